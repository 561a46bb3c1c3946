// A source file as the tidy rules see it: its text, and the same text with comments and literals blanked out.
//
// Blanking keeps every character's position and every newline, so that a place in `code` is the same place in `text`,
// and a rule that looks for a word cannot be fooled by a comment, a string or a preprocessor line.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace shoal::tidy {

struct SourceFile {
  std::string path;  // from the repository's root, with '/'
  std::string text;
  std::string code;  // text without comments, literals and preprocessor lines, each replaced by spaces
};

// True for what a compiler reads: .h and .cpp, and .cuh and .cu, which hold kernels.
[[nodiscard]] bool is_source_name(std::string_view path);

[[nodiscard]] SourceFile make_source(std::string path, std::string text);

[[nodiscard]] std::vector<std::string_view> lines_of(std::string_view text);
[[nodiscard]] std::size_t line_at(std::string_view text, std::size_t position);  // counted from 1
[[nodiscard]] std::string_view trimmed(std::string_view text);
[[nodiscard]] bool is_word_character(char c);

// Positions at which `word` stands as a whole word (its neighbours are no identifier characters).
[[nodiscard]] std::vector<std::size_t> find_word(std::string_view code, std::string_view word);

// The index of the bracket that closes the one at `open`, or code.size() when none does.
[[nodiscard]] std::size_t matching_bracket(std::string_view code, std::size_t open);

// Each #include, in order: what stands between its quotes or (is_system) angle brackets.
struct Include {
  std::string target;
  bool is_system = false;
  std::size_t line = 0;
};
[[nodiscard]] std::vector<Include> includes_of(const SourceFile& source);

}  // namespace shoal::tidy
