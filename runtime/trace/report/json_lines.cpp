// Escapes and numbers.
#include "runtime/trace/report/json_lines.h"

#include <cstdlib>

namespace shoal {
namespace {

// Bytes of the UTF-8 character at the front of `text`, or 0 where there is none.
std::size_t character_bytes(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  const std::size_t length = first < 0x80 ? 1 : first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC2 ? 2 : 0;
  if (length == 0 || length > text.size() || first > 0xF4) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0U) != 0x80) return 0;
  }
  return length;
}

}  // namespace

std::string json_text(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const std::size_t length = character_bytes(text);
    const char first = text[0];
    if (length == 0) {
      out += '?';
    } else if (first == '"' || first == '\\') {
      out += {'\\', first};
    } else if (static_cast<unsigned char>(first) < 0x20) {
      constexpr std::string_view kDigits = "0123456789abcdef";
      out += {'\\', 'u', '0', '0', kDigits[static_cast<unsigned char>(first) / 16], kDigits[first % 16]};
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out + '"';
}

JsonObject& JsonObject::text(std::string_view name, std::string_view value) { return raw(name, json_text(value)); }

JsonObject& JsonObject::microseconds(std::string_view name, std::int64_t nanoseconds) {
  const std::int64_t whole = std::abs(nanoseconds) / 1000;
  const std::string part = std::to_string(1000 + std::abs(nanoseconds) % 1000).substr(1);
  return raw(name, (nanoseconds < 0 ? "-" : "") + std::to_string(whole) + "." + part);
}

JsonObject& JsonObject::raw(std::string_view name, std::string_view json) {
  if (!is_first_) out_->push_back(',');
  is_first_ = false;
  *out_ += json_text(name);
  out_->push_back(':');
  *out_ += json;
  return *this;
}

}  // namespace shoal
