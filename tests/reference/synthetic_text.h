// A text of words in a fixed pseudo-random order, byte for byte the one of gpt_reference.py's synthetic_text().
// The recording in this folder was made on it, so that no corpus is needed to repeat the comparison.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace shoal {

inline std::string synthetic_text(std::size_t byte_count) {
  constexpr std::array kWords = {"the",    "a",   "fish",    "school",  "swims", "by",   "its", "neighbours", "and",
                                 "losing", "one", "changes", "nothing", "of",    "what", "all", "know"};
  std::uint64_t state = 1;
  std::string text;
  while (text.size() < byte_count) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    text += kWords[(state >> 33U) % kWords.size()];
    text += (state >> 60U) == 0 ? ".\n" : " ";
  }
  text.resize(byte_count);
  return text;
}

}  // namespace shoal
