// A whole number out of JSON, of any of the library's types, if it is one that T holds. The library by itself converts
// any number into any type without a word: 1.5 becomes 1, -1 and 4294967296 become something else.
#pragma once

#include <cstdint>
#include <utility>

namespace shoal {

// Throws the library's type_error, as it does of a text where a number is wanted.
template <class T, class Json>
[[nodiscard]] T whole_number(const Json& json) {
  const bool fits = json.is_number_unsigned()
                        ? std::in_range<T>(json.template get<std::uint64_t>())
                        : json.is_number_integer() && std::in_range<T>(json.template get<std::int64_t>());
  if (!fits) throw Json::type_error::create(302, "not a whole number of the size that belongs here", &json);
  return json.template get<T>();
}

}  // namespace shoal
