// Small byte-pair encodings for tests: every byte, and some merges, in the order of their ranks.
// Made from numbers, so that tests need no network.
#pragma once

#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace shoal {

inline std::vector<std::string> every_byte() {
  std::vector<std::string> tokens;
  for (int byte = 0; byte < 256; ++byte) tokens.emplace_back(1, static_cast<char>(byte));
  return tokens;
}

// Every byte and `merges` joined pairs of what came before, over the letters of `alphabet`, in a random order.
inline std::vector<std::string> random_tokens(std::mt19937_64& random, std::string_view alphabet, int merges) {
  std::vector<std::string> tokens = every_byte();
  std::vector<std::string> parts;
  for (const char letter : alphabet) parts.emplace_back(1, letter);
  std::set<std::string> known(parts.begin(), parts.end());
  for (int tries = 0; tries < 100 * merges && tokens.size() < 256U + static_cast<std::size_t>(merges); ++tries) {
    const std::string joined = parts[random() % parts.size()] + parts[random() % parts.size()];
    if (joined.size() > 8 || !known.insert(joined).second) continue;
    tokens.push_back(joined);
    parts.push_back(joined);
  }
  return tokens;
}

inline std::string base64(std::string_view bytes) {
  constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t bits = 0;
    for (std::size_t j = i; j < i + 3; ++j) {
      bits = bits << 8U | (j < bytes.size() ? static_cast<unsigned char>(bytes[j]) : 0U);
    }
    for (const unsigned shift : {18U, 12U, 6U, 0U}) text += kAlphabet[bits >> shift & 63U];
  }
  const std::size_t missing = (3 - bytes.size() % 3) % 3;
  return text.replace(text.size() - missing, missing, std::string(missing, '='));
}

// The .tiktoken file of these tokens.
inline std::string ranks_text(const std::vector<std::string>& tokens) {
  std::string text;
  for (std::size_t rank = 0; rank < tokens.size(); ++rank) {
    text += base64(tokens[rank]) + " " + std::to_string(rank) + "\n";
  }
  return text;
}

}  // namespace shoal
