// The rules of the house that a program can check: text in, findings out.
//
// Each rule is pure and looks at one file (or at one folder's names), so that a test can show it bad text and expect
// the finding. tidy_test.cpp runs them over the repository; rules_test.cpp shows that each of them can fail.
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

// The file's name stands in `cmake_text`, the text of the nearest CMakeLists.txt above it, as `name_there`.
[[nodiscard]] Findings check_listed(const std::string& path, const std::string& name_there,
                                    std::string_view cmake_text);

// A folder's own file names (no subfolders): how many pairs of header and source.
[[nodiscard]] Findings check_folder_size(const std::string& folder, const std::vector<std::string>& names);

// A folder of sources (tests apart, which mirror the others) says what is in it: `names` has a README.md.
[[nodiscard]] Findings check_has_readme(const std::string& folder, const std::vector<std::string>& names);

[[nodiscard]] Findings check_readme_length(const std::string& path, std::string_view text);

// Headers and sources that a comment or a README names by path or by name: each is one of `files`.
[[nodiscard]] Findings check_named_files(const std::string& path, std::string_view text,
                                         const std::vector<std::string>& files);

}  // namespace shoal::tidy
