// The rules of the house that a program can check: text in, findings out.
//
// Each rule is pure and looks at one file, so that a test can show it bad text and expect the finding. Rules of folders
// and their READMEs are in folders/. tidy_test.cpp runs them over the repository; rules_test.cpp shows that each of
// them can fail.
#pragma once

#include <string>
#include <vector>

#include "tests/tidy/source_text.h"

namespace shoal::tidy {

struct Finding {
  std::string path;
  std::size_t line = 0;  // 0: the file or folder as a whole
  std::string what;      // says what is wrong and what to do
};
using Findings = std::vector<Finding>;

// Adds a finding at this place where there are more than `gate` of what it names.
void add_if_over(Findings& findings, const Finding& at, std::size_t count, std::size_t gate);

// Lengths of files, functions, behaviours, handlers; parameters; state fields; messages per conversation.
[[nodiscard]] Findings check_file_length(const SourceFile& source);
[[nodiscard]] Findings check_functions(const SourceFile& source);
[[nodiscard]] Findings check_handlers(const SourceFile& source);
[[nodiscard]] Findings check_state_fields(const SourceFile& source);
[[nodiscard]] Findings check_message_count(const SourceFile& source);
[[nodiscard]] Findings check_line_lengths(const SourceFile& source);

// The arrows between folders, and who may see torch and CAF.
[[nodiscard]] Findings check_arrows(const SourceFile& source);

// The opening comment, and `#pragma once` in a header.
[[nodiscard]] Findings check_opening(const SourceFile& source);

// For a source that has a header of its own name beside it.
[[nodiscard]] Findings check_own_header_first(const SourceFile& source);

// A test has a namespace called as its file, or as folder and file where two files of a program have that name: so
// tests compile together.
[[nodiscard]] Findings check_own_namespace(const SourceFile& source);

// printf and cout outside launch/ and tests/, default captures, `using namespace` in headers, sleeping tests.
[[nodiscard]] Findings check_forbidden_words(const SourceFile& source);

}  // namespace shoal::tidy
