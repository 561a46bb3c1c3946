// Fields of JSON that somebody else wrote, of any of the library's types. Nothing: the key is not there, its value has
// another type, or the JSON is no object.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace shoal {

template <class Json>
[[nodiscard]] std::optional<std::string> text_field(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_string()) return std::nullopt;
  return found->template get<std::string>();
}

// A whole number from 0 on.
template <class Json>
[[nodiscard]] std::optional<std::uint64_t> count_field(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_number_unsigned()) return std::nullopt;
  return found->template get<std::uint64_t>();
}

template <class Json>
[[nodiscard]] std::optional<double> number_field(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_number()) return std::nullopt;
  return found->template get<double>();
}

}  // namespace shoal
