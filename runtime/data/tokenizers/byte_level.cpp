// The characters have one or two bytes in UTF-8: the last of them is U+0143.
#include "runtime/data/tokenizers/byte_level.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace shoal {
namespace {

std::string utf8_of(std::uint32_t character) {
  if (character < 0x80) return {static_cast<char>(character)};
  return {static_cast<char>(0xC0U | character >> 6U), static_cast<char>(0x80U | (character & 0x3FU))};
}

using Printed = std::array<std::string, 256>;

const Printed& printed_bytes() {
  static const Printed printed = [] {
    Printed characters;
    std::uint32_t next = 0x100;
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
      const bool is_printable = (byte > 0x20 && byte < 0x7F) || (byte > 0xA0 && byte != 0xAD);
      characters[byte] = utf8_of(is_printable ? byte : next++);
    }
    return characters;
  }();
  return printed;
}

}  // namespace

std::string printed(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) text += printed_bytes()[static_cast<std::uint8_t>(byte)];
  return text;
}

std::optional<std::string> bytes_of_printed(std::string_view text) {
  std::string bytes;
  while (!text.empty()) {
    const std::size_t length = (static_cast<std::uint8_t>(text[0]) & 0x80U) == 0 ? 1 : 2;
    const auto found = std::ranges::find(printed_bytes(), text.substr(0, length));
    if (found == printed_bytes().end()) return std::nullopt;
    bytes += static_cast<char>(found - printed_bytes().begin());
    text.remove_prefix(std::min(length, text.size()));
  }
  return bytes;
}

}  // namespace shoal
