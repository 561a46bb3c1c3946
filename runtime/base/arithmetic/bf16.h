// bf16 as its bits: the upper half of a float32 (8 bits of exponent, 7 of fraction).
// Integer operations alone, so that loops over them give the same bits with any vector instructions, and on a GPU.
#pragma once

#include <cstdint>

#include "runtime/base/arithmetic/element.h"

namespace shoal {

[[nodiscard]] SHOAL_ELEMENT constexpr std::uint32_t bits_of_bf16(std::uint16_t value) {
  return static_cast<std::uint32_t>(value) << 16U;
}
[[nodiscard]] SHOAL_ELEMENT constexpr float float_of_bf16(std::uint16_t value) { return float_of(bits_of_bf16(value)); }

// To the nearest, ties to even. For finite values.
[[nodiscard]] SHOAL_ELEMENT constexpr std::uint16_t to_bf16(float value) {
  const std::uint32_t bits = bits_of(value);
  return static_cast<std::uint16_t>((bits + 0x7FFFU + ((bits >> 16U) & 1U)) >> 16U);
}
// The same for any value: infinity stays, and NaN becomes the quiet one that torch makes.
[[nodiscard]] SHOAL_ELEMENT constexpr std::uint16_t to_bf16_or_nan(float value) {
  const bool is_nan = (bits_of(value) & 0x7FFFFFFFU) > 0x7F800000U;
  return is_nan ? std::uint16_t{0x7FC0} : to_bf16(value);
}

}  // namespace shoal
