// UTF-8 as RFC 3629 has it: neither overlong nor of surrogates.
#include "messages/printable.h"

#include <cstddef>
#include <cstdint>

namespace shoal {
namespace {

struct Read {
  std::size_t size = 0;  // bytes; 0: no character begins here
  std::uint32_t character = 0;
};

Read read(std::string_view text) {
  const auto byte = [text](std::size_t at) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[at])); };
  const std::uint32_t first = byte(0);
  if (first < 0x80) return {1, first};
  const std::size_t size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < size) return {};
  std::uint32_t character = first & (0x7FU >> size);
  for (std::size_t at = 1; at < size; ++at) {
    if ((byte(at) & 0xC0U) != 0x80U) return {};
    character = character << 6U | (byte(at) & 0x3FU);
  }
  const bool is_overlong = (size == 3 && character < 0x800) || (size == 4 && character < 0x10000);
  const bool is_surrogate = character >= 0xD800 && character <= 0xDFFF;
  return is_overlong || is_surrogate || character > 0x10FFFF ? Read{} : Read{size, character};
}

bool is_text(std::uint32_t character) {
  const auto is_in = [character](std::uint32_t low, std::uint32_t high) {
    return character >= low && character <= high;
  };
  const bool is_control = character < 0x20 || is_in(0x7F, 0x9F);
  const bool turns_or_separates = is_in(0x200E, 0x200F) || is_in(0x2028, 0x202E) || is_in(0x2066, 0x2069);
  return !is_control && !turns_or_separates;
}

}  // namespace

std::string printable(std::string_view text, TextShape shape) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Read next = read(text);
    const bool is_kept = shape == TextShape::kLines && (text.front() == '\n' || text.front() == '\t');
    const std::size_t size = next.size == 0 ? 1 : next.size;
    const bool is_shown = is_kept || (next.size != 0 && is_text(next.character));
    out += is_shown ? text.substr(0, size) : std::string_view("?");
    text.remove_prefix(size);
  }
  return out;
}

}  // namespace shoal
