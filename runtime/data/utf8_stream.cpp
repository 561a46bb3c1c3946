// Well-formed byte sequences: table 3-7 of the Unicode standard.
#include "runtime/data/utf8_stream.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace shoal {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// A lead byte: how long its character is, and the range of the byte behind it; length 0: no character begins so.
struct Lead {
  std::size_t length = 0;
  std::uint8_t least = 0x80;
  std::uint8_t most = 0xBF;
};

Lead lead_of(std::uint8_t byte) {
  if (byte < 0x80) return {1};
  if (byte < 0xC2) return {0};
  if (byte < 0xE0) return {2};
  if (byte == 0xE0) return {3, 0xA0, 0xBF};
  if (byte == 0xED) return {3, 0x80, 0x9F};
  if (byte < 0xF0) return {3};
  if (byte == 0xF0) return {4, 0x90, 0xBF};
  if (byte < 0xF4) return {4};
  if (byte == 0xF4) return {4, 0x80, 0x8F};
  return {0};
}

// The part of a character at the beginning of `bytes`, and whether it is all of it.
struct Part {
  std::size_t length = 0;  // at least 1
  bool is_whole = false;
  bool may_go_on = false;  // `bytes` ended within it
};

Part part_at(std::string_view bytes) {
  const Lead lead = lead_of(static_cast<std::uint8_t>(bytes[0]));
  if (lead.length == 0) return {1, false, false};
  for (std::size_t i = 1; i < lead.length; ++i) {
    if (i == bytes.size()) return {i, false, true};
    const auto byte = static_cast<std::uint8_t>(bytes[i]);
    const bool is_next = i == 1 ? byte >= lead.least && byte <= lead.most : byte >= 0x80 && byte <= 0xBF;
    if (!is_next) return {i, false, false};
  }
  return {lead.length, true, false};
}

}  // namespace

std::string_view last_character(std::string_view bytes) {
  constexpr std::size_t kLongest = 4;
  for (std::size_t length = 1; length <= std::min(kLongest, bytes.size()); ++length) {
    const std::string_view end = bytes.substr(bytes.size() - length);
    const Part part = part_at(end);
    if (part.is_whole && part.length == length) return end;
  }
  return {};
}

std::string Utf8Stream::add(std::string_view bytes) {
  pending_ += bytes;
  std::string characters;
  std::size_t at = 0;
  while (at < pending_.size()) {
    const std::string_view left = std::string_view(pending_).substr(at);
    const Part part = part_at(left);
    if (part.may_go_on) break;
    characters += part.is_whole ? left.substr(0, part.length) : kReplacement;
    at += part.length;
  }
  pending_.erase(0, at);
  return characters;
}

std::string Utf8Stream::finish() {
  const bool is_left = !pending_.empty();
  pending_.clear();
  return is_left ? std::string(kReplacement) : "";
}

std::string without_controls(std::string_view text) {
  std::string plain;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto byte = static_cast<std::uint8_t>(text[at]);
    if (byte == '\r') continue;  // part of a line's end
    const auto next = static_cast<std::uint8_t>(at + 1 < text.size() ? text[at + 1] : 0);
    const bool is_short = (byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7F;
    const bool is_long = byte == 0xC2 && next >= 0x80 && next < 0xA0;  // U+0080 to U+009F
    if (is_long) ++at;
    if (is_short || is_long) {
      plain += kReplacement;
    } else {
      plain += text[at];
    }
  }
  return plain;
}

}  // namespace shoal
