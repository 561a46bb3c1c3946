// A word as a POSIX shell reads it back: a command that is shown to a person can be pasted, whatever a path contains.
// Quoted only where it must be.
#pragma once

#include <string>
#include <string_view>

namespace shoal {

inline constexpr std::string_view kPlainLetters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=./:,+%@";

[[nodiscard]] inline std::string shell_word(std::string_view word) {
  if (!word.empty() && word.find_first_not_of(kPlainLetters) == std::string_view::npos) return std::string(word);
  std::string text = "'";
  for (const char letter : word) text += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return text + "'";
}

}  // namespace shoal
