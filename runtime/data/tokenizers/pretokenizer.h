// Cuts text into the pieces that a byte-pair encoding treats apart: words with the space before them, numbers, other
// marks, white space. Over Unicode characters, by one of these expressions (the first alternative that matches):
//
//   gpt2         's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
//   gpt2_digits  the same within what lies between digits (\p{N}), each of which is a piece
//   llama3       (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|
//                \s*[\r\n]+|\s+(?!\S)|\s+
//   qwen2        the same with \p{N}
//
// gpt2 is that of GPT-2's encoder.py (Radford et al., 2019); the others are those of the tokenizer.json of SmolLM,
// Llama 3 and Qwen2 (Qwen3 has it, too). \s is Unicode's White_Space, as the libraries that these are used with have
// it; PCRE2's own \s has U+180E besides. Letters and numbers are those of the PCRE2 library's Unicode version.
// Immutable and thread-safe.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace shoal {

enum class Pieces { kGpt2, kGpt2Digits, kLlama3, kQwen2 };

// Returns the expression as it is published.
[[nodiscard]] std::string_view expression_of(Pieces pieces);

class Pretokenizer {
 public:
  explicit Pretokenizer(Pieces pieces = Pieces::kGpt2);
  ~Pretokenizer();
  Pretokenizer(const Pretokenizer&) = delete;
  Pretokenizer& operator=(const Pretokenizer&) = delete;

  // The pieces in order; joined they are the text, and they point into it. A byte that is no part of UTF-8 is a piece
  // of its own, and what stands on either side is cut as if the text ended there.
  [[nodiscard]] std::vector<std::string_view> cut(std::string_view text) const;

  // Returns the greatest length at which a text that begins with `window` may be parted, as far as the window tells:
  // behind a piece that is the same whatever follows, and does not end with white space, which would run together with
  // what stands before it. 0: there is no such piece.
  [[nodiscard]] std::size_t settled_end(std::string_view window) const;

  // Returns a length of at least `wanted` at which the text may be parted without any piece being another: the first
  // between a letter, a digit or, with the expressions of GPT-2, another mark, and ASCII white space; or, where there
  // is none in twice the length that is wanted, behind a settled piece. More than twice only where one piece is longer.
  // The text's size where there is no such length. For texts too large to cut at once.
  [[nodiscard]] std::size_t seam_after(std::string_view text, std::size_t wanted) const;

 private:
  [[nodiscard]] std::size_t find_seam(std::string_view text, std::size_t from, std::size_t to) const;

  struct Pattern;
  std::unique_ptr<Pattern> pattern_;
};

// True of a text of white space alone that is not empty.
[[nodiscard]] bool is_white_space(std::string_view text);

// Version of the library's tables: "14.0.0".
[[nodiscard]] std::string unicode_version();
// Version of the library: "10.42 2022-12-11".
[[nodiscard]] std::string pcre2_version();

}  // namespace shoal
