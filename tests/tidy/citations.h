// The rule of citations: every rule, numbered section and document that a text cites exists in the repository, and
// every rule is cited where it is kept. Pure, as the other rules.
//
//   rule      = "* **P-17a ..." in PROTOCOL.md, "| S-3 | ..." in DESIGN.md      cited as P-17a, S-3
//   section   = "## 4. ..."; an item "9. ..." of it                             cited as DESIGN.md §4, DESIGN.md §4.9
//   document  = a file whose name ends with .md                                 cited by its path or the end of it
//   link      = "[text](path)" in a document: a path from the folder of the document, or an address
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/tidy/rules.h"

namespace shoal::tidy {

// Everything that can be cited.
struct Law {
  std::set<std::string> rules;
  std::map<std::string, std::set<std::string>> sections;  // by the file name of their document
  std::set<std::string> documents;                        // paths
};

// The rules that a document states, in its order; one that it states twice is there twice.
[[nodiscard]] std::vector<std::string> rules_stated_in(std::string_view document);
// "4", "4.9".
[[nodiscard]] std::set<std::string> sections_in(std::string_view document);
[[nodiscard]] std::set<std::string> rules_cited_in(std::string_view text);

// Checks documents and sections in the comments of sources alone; rules are cited in words for people, too.
[[nodiscard]] Findings check_citations(const std::string& path, std::string_view text, const Law& law);
// Links of the document at `path` whose target is neither one of `files` nor a folder of one.
[[nodiscard]] Findings check_links(const std::string& path, std::string_view text,
                                   const std::vector<std::string>& files);
// `stated`: the rules of the document at `path`. Each is stated once, and `cited` has it.
[[nodiscard]] Findings check_rules_are_cited(const std::string& path, const std::vector<std::string>& stated,
                                             const std::set<std::string>& cited);

}  // namespace shoal::tidy
