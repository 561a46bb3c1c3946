// Blanks comments, literals and preprocessor lines in one pass over the text. Not a C++ lexer: it knows just enough
// (escapes, raw strings, digit separators, line continuations) for code that the compiler has accepted.
#include "tests/tidy/source_text.h"

#include <algorithm>
#include <array>
#include <utility>

namespace shoal::tidy {
namespace {

class Blanker {
 public:
  explicit Blanker(std::string_view text) : text_(text), code_(text) {}

  std::string run() {
    while (at_ < text_.size()) step();
    return std::move(code_);
  }

 private:
  void step() {
    const std::string_view rest = text_.substr(at_);
    if (rest.starts_with("//")) return blank_to(end_of_line(at_));
    if (rest.starts_with("/*")) return blank_to(after(text_.find("*/", at_ + 2), 2));
    if (rest.starts_with("R\"") && !follows_word()) return blank_to(end_of_raw_string());
    if (rest[0] == '"') return blank_to(end_of_literal('"'));
    if (rest[0] == '\'' && !follows_word()) return blank_to(end_of_literal('\''));
    if (rest[0] == '#' && starts_line()) return blank_to(end_of_directive());
    ++at_;
  }

  void blank_to(std::size_t end) {
    for (; at_ < end; ++at_) {
      if (code_[at_] != '\n') code_[at_] = ' ';
    }
  }

  [[nodiscard]] bool follows_word() const { return at_ > 0 && is_word_character(text_[at_ - 1]); }
  [[nodiscard]] bool starts_line() const {
    const std::size_t before = text_.find_last_not_of(" \t", at_ == 0 ? std::string_view::npos : at_ - 1);
    return at_ == 0 || before == std::string_view::npos || text_[before] == '\n';
  }
  [[nodiscard]] std::size_t after(std::size_t found, std::size_t length) const {
    return found == std::string_view::npos ? text_.size() : found + length;
  }
  [[nodiscard]] std::size_t end_of_line(std::size_t from) const {
    return std::min(text_.find('\n', from), text_.size());
  }

  [[nodiscard]] std::size_t end_of_directive() const {
    std::size_t end = end_of_line(at_);
    while (end < text_.size() && text_[end - 1] == '\\') end = end_of_line(end + 1);
    return end;
  }
  [[nodiscard]] std::size_t end_of_literal(char quote) const {
    std::size_t i = at_ + 1;
    while (i < text_.size() && text_[i] != quote && text_[i] != '\n') i += text_[i] == '\\' ? 2 : 1;
    return std::min(i + 1, text_.size());
  }
  [[nodiscard]] std::size_t end_of_raw_string() const {
    const std::size_t open = text_.find('(', at_);
    if (open == std::string_view::npos) return text_.size();
    const std::string close = ")" + std::string(text_.substr(at_ + 2, open - at_ - 2)) + "\"";
    return after(text_.find(close, open), close.size());
  }

  std::string_view text_;
  std::string code_;
  std::size_t at_ = 0;
};

}  // namespace

bool is_source_name(std::string_view path) {
  constexpr std::array<std::string_view, 4> kEnds = {".h", ".cpp", ".cuh", ".cu"};
  return std::ranges::any_of(kEnds, [&](std::string_view end) { return path.ends_with(end); });
}

SourceFile make_source(std::string path, std::string text) {
  std::string code = Blanker(text).run();
  return {std::move(path), std::move(text), std::move(code)};
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::size_t line_at(std::string_view text, std::size_t position) {
  return 1 + static_cast<std::size_t>(std::ranges::count(text.substr(0, position), '\n'));
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

bool is_word_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

std::vector<std::size_t> find_word(std::string_view code, std::string_view word) {
  std::vector<std::size_t> places;
  for (std::size_t at = code.find(word); at != std::string_view::npos; at = code.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    const bool starts = at == 0 || !is_word_character(code[at - 1]);
    if (starts && (end == code.size() || !is_word_character(code[end]))) places.push_back(at);
  }
  return places;
}

std::size_t matching_bracket(std::string_view code, std::size_t open) {
  int depth = 0;
  for (std::size_t i = open; i < code.size(); ++i) {
    if (code[i] == '(' || code[i] == '[' || code[i] == '{') ++depth;
    if ((code[i] == ')' || code[i] == ']' || code[i] == '}') && --depth == 0) return i;
  }
  return code.size();
}

std::vector<Include> includes_of(const SourceFile& source) {
  std::vector<Include> includes;
  std::size_t number = 0;
  for (std::string_view line : lines_of(source.text)) {
    ++number;
    line = trimmed(line);
    if (!line.starts_with("#include")) continue;
    line = trimmed(line.substr(8));
    if (line.empty() || (line[0] != '"' && line[0] != '<')) continue;
    const bool is_system = line[0] == '<';
    const std::size_t end = line.find(is_system ? '>' : '"', 1);
    if (end != std::string_view::npos) includes.push_back({std::string(line.substr(1, end - 1)), is_system, number});
  }
  return includes;
}

}  // namespace shoal::tidy
