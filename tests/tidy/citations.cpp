// Regular expressions, line by line; most lines have nothing to look at, and those are left out first.
#include "tests/tidy/citations.h"

#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <regex>
#include <utility>

#include "tests/tidy/repository.h"

namespace shoal::tidy {
namespace {

using Match = std::match_results<std::string_view::const_iterator>;

// An elliptic curve.
constexpr std::string_view kNoRule = "P-256";

[[nodiscard]] bool has_any(std::string_view line, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(words,
                             [line](std::string_view word) { return line.find(word) != std::string_view::npos; });
}

[[nodiscard]] std::vector<Match> matches_in(std::string_view line, const std::regex& pattern) {
  std::vector<Match> found;
  for (auto from = line.begin(); from != line.end();) {
    const auto flags = from == line.begin()
                           ? std::regex_constants::match_default
                           : std::regex_constants::match_not_bol | std::regex_constants::match_prev_avail;
    Match match;
    if (!std::regex_search(from, line.end(), match, pattern, flags)) break;
    found.push_back(match);
    from = match[0].second;
  }
  return found;
}

[[nodiscard]] std::vector<std::string> rules_of_line(std::string_view line) {
  static const std::regex kRule(R"re((?:^|[^\w-])([PSL]-[0-9]+[a-z]?)(?!\w))re");
  std::vector<std::string> rules;
  if (!has_any(line, {"P-", "S-", "L-"})) return rules;
  for (const Match& match : matches_in(line, kRule)) {
    if (match[1].str() != kNoRule) rules.push_back(match[1].str());
  }
  return rules;
}

// Returns what of a line speaks to people: of a source, its comment.
[[nodiscard]] std::string_view words_of(const std::string& path, std::string_view line) {
  if (!is_source_name(path)) return line;
  const std::size_t at = line.find("//");
  return at == std::string_view::npos ? std::string_view() : line.substr(at);
}

[[nodiscard]] bool is_there(std::string document, const Law& law) {
  while (document.starts_with("../")) document.erase(0, 3);
  return std::ranges::any_of(
      law.documents, [&](const std::string& path) { return path == document || path.ends_with("/" + document); });
}

// "§4.9" after `document`, whose sections are known or not.
void check_section(const std::string& document, const std::string& number, const Law& law, Finding finding,
                   Findings& findings) {
  const auto known = law.sections.find(name_of(document));
  if (known != law.sections.end() && known->second.contains(number)) return;
  finding.what = "cites section " + number + " of " + document + ", which has no such section";
  findings.push_back(std::move(finding));
}

// Documents in a line, and the sections behind each; in a document of the law a section without one is its own.
void check_words(const std::string& path, std::size_t number, std::string_view words, const Law& law,
                 Findings& findings) {
  static const std::regex kCited(R"re(([\w./-]+\.md)\b`?|(,? ?\(?)§([0-9]+(?:\.[0-9]+)?))re");
  if (!has_any(words, {".md", "§"})) return;
  const std::string own = law.sections.contains(name_of(path)) ? path : std::string();
  std::string document = own;
  auto end = words.begin();
  for (const Match& match : matches_in(words, kCited)) {
    const bool follows = match[0].first == end;
    end = match[0].second;
    if (match[1].matched) {
      document = match[1].str();
      if (!is_there(document, law)) findings.push_back({path, number, "cites " + document + ": there is no such file"});
      continue;
    }
    if (!follows) document = own;
    if (!document.empty()) check_section(document, match[3].str(), law, {path, number, {}}, findings);
  }
}

}  // namespace

std::vector<std::string> rules_stated_in(std::string_view document) {
  static const std::regex kStated(R"re(^(?:\* \*\*(P-[0-9]+[a-z]?)\b|\| ([SL]-[0-9]+) \| \w\w))re");
  std::vector<std::string> rules;
  for (const std::string_view line : lines_of(document)) {
    for (const Match& match : matches_in(line, kStated)) rules.push_back(match[match[1].matched ? 1 : 2].str());
  }
  return rules;
}

std::set<std::string> sections_in(std::string_view document) {
  static const std::regex kSection(R"re(^## ([0-9]+)\. )re");
  static const std::regex kItem(R"re(^([0-9]+)\. )re");
  std::set<std::string> sections;
  std::string section;
  for (const std::string_view line : lines_of(document)) {
    for (const Match& match : matches_in(line, kSection)) sections.insert(section = match[1].str());
    for (const Match& match : matches_in(line, kItem)) sections.insert(section + "." + match[1].str());
  }
  return sections;
}

std::set<std::string> rules_cited_in(std::string_view text) {
  std::set<std::string> cited;
  for (const std::string_view line : lines_of(text)) {
    for (std::string& rule : rules_of_line(line)) cited.insert(std::move(rule));
  }
  return cited;
}

Findings check_citations(const std::string& path, std::string_view text, const Law& law) {
  Findings findings;
  std::size_t number = 0;
  for (const std::string_view line : lines_of(text)) {
    ++number;
    for (const std::string& rule : rules_of_line(line)) {
      if (!law.rules.contains(rule)) findings.push_back({path, number, "cites " + rule + ": there is no such rule"});
    }
    check_words(path, number, words_of(path, line), law, findings);
  }
  return findings;
}

Findings check_links(const std::string& path, std::string_view text, const std::vector<std::string>& files) {
  static const std::regex kLink(R"re(\]\(([^)#\s]+)[^)]*\))re");
  Findings findings;
  std::size_t number = 0;
  for (const std::string_view line : lines_of(text)) {
    ++number;
    for (const Match& match : matches_in(line, kLink)) {
      const std::string target = match[1].str();
      if (target.find("://") != std::string::npos) continue;
      const std::string file = (std::filesystem::path(folder_of(path)) / target).lexically_normal().generic_string();
      const std::string folder = file.ends_with('/') ? file : file + "/";
      const bool is_there = std::ranges::any_of(
          files, [&](const std::string& known) { return known == file || known.starts_with(folder); });
      if (!is_there) findings.push_back({path, number, "links to " + target + ": there is no such file"});
    }
  }
  return findings;
}

Findings check_rules_are_cited(const std::string& path, const std::vector<std::string>& stated,
                               const std::set<std::string>& cited) {
  Findings findings;
  std::set<std::string> known;
  for (const std::string& rule : stated) {
    if (!known.insert(rule).second) findings.push_back({path, 0, rule + " is stated twice"});
    if (!cited.contains(rule)) findings.push_back({path, 0, "nobody cites " + rule + ": name it where it is kept"});
  }
  return findings;
}

}  // namespace shoal::tidy
