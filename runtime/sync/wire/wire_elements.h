// The arithmetic of one value of the wire formats, shared by the CPU's loops (wire_kernels.h) and a GPU's kernels.
// wire_codec.h says what the bytes mean. IEEE operations without contraction; nothing is checked here.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/base/arithmetic/bf16.h"
#include "runtime/base/arithmetic/element.h"

namespace shoal {

inline constexpr std::size_t kWireBlock = 256;               // values that share a scale
inline constexpr std::uint32_t kFlushedBelow = 0x0D800000U;  // 2^-100, a block's largest: else 1/scale overflows
inline constexpr std::uint32_t kCarriedMost = 0x71800000U;   // 2^100: sums of many vectors cannot overflow unseen
inline constexpr float kInt8Max = 127;
inline constexpr float kRoundingShift = 0x1.8p23F;  // adding it leaves the nearest integer in the low bits
inline constexpr std::int32_t kExponentOfHalf = 126;

struct Int8Scale {
  float scale = 0, inverse = 0;
};

struct E3m0Scale {
  std::uint16_t scale = 0;  // bf16
  float inverse = 0;
};

// A float without its sign. As integers these order like the magnitudes, with infinity and then NaN on top.
SHOAL_ELEMENT constexpr std::uint32_t magnitude_bits(float value) { return bits_of(value) & 0x7FFFFFFFU; }

// Says whether a vector travels in any format; largest: its largest magnitude, as bits.
SHOAL_ELEMENT constexpr bool is_carried(std::uint32_t largest) { return largest <= kCarriedMost; }

// largest: the block's largest magnitude, as bits.
SHOAL_ELEMENT Int8Scale int8_scale(std::uint32_t largest) {
  if (largest < kFlushedBelow) return {};
  return {float_of(largest) / kInt8Max, kInt8Max / float_of(largest)};
}

SHOAL_ELEMENT std::uint8_t int8_code(float value, float inverse) {
  const float scaled = value * inverse;
  return static_cast<std::uint8_t>(bits_of(scaled + kRoundingShift));
}

SHOAL_ELEMENT float int8_value(std::uint8_t code, float scale) {
  return static_cast<float>(static_cast<std::int8_t>(code)) * scale;
}

SHOAL_ELEMENT E3m0Scale e3m0_scale(std::uint32_t largest) {
  const std::uint16_t scale = largest < kFlushedBelow ? std::uint16_t{0} : to_bf16(float_of(largest));
  return {scale, scale == 0 ? 0.0F : 64 / float_of_bf16(scale)};
}

// Sign and the nearest of 0, 1, 2, 4 .. 64 (codes 0, 1, 2 .. 7) to |value| * inverse, which is at most 64.5. Signed
// integers throughout: those are what every instruction set compares.
SHOAL_ELEMENT std::int32_t e3m0_code(float value, float inverse) {
  const auto all = static_cast<std::int32_t>(bits_of(value * inverse));
  const std::int32_t bits = all & 0x7FFFFFFF;
  const std::int32_t level = (((bits >> 22) + 1) >> 1) - kExponentOfHalf;  // half an octave up goes up
  const std::int32_t lowest = bits >= (kExponentOfHalf << 23) ? 1 : 0;     // from 0.5 on, 1 is nearer than 0
  return (level > lowest ? level : lowest) | ((all >> 28) & 8);
}

SHOAL_ELEMENT float e3m0_value(std::uint32_t code) {
  const std::uint32_t level = code & 7U;
  const std::uint32_t bits = level == 0 ? 0 : (level + 120U) << 23U;  // 7 is 1.0
  return float_of(bits | ((code & 8U) << 28U));
}

}  // namespace shoal
