// One function per block, inlined into the loop over blocks; a whole block has a constant length, which is what lets
// the compiler unroll it.
#include "runtime/sync/wire/wire_kernels.h"

#include <algorithm>

#include "runtime/base/arithmetic/vector_clones.h"

#define SHOAL_INLINE inline __attribute__((always_inline))

namespace shoal {
namespace {

constexpr std::uint32_t kFlushedBelow = std::bit_cast<std::uint32_t>(0x1p-100F);  // a block's largest: else 1/scale
constexpr float kInt8Max = 127;
constexpr float kRoundingShift = 0x1.8p23F;  // adding it leaves the nearest integer in the low bits
constexpr std::int32_t kExponentOfHalf = 126;
constexpr std::size_t kHalfBlock = kWireBlock / 2;

SHOAL_INLINE std::uint32_t largest_in(const float* __restrict values, std::size_t count) {
  std::uint32_t largest = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t bits = magnitude_bits(values[i]);
    largest = bits > largest ? bits : largest;
  }
  return largest;
}

SHOAL_INLINE void int8_block(const float* __restrict values, float inverse, std::uint8_t* __restrict codes,
                             std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const float scaled = values[i] * inverse;
    codes[i] = static_cast<std::uint8_t>(std::bit_cast<std::uint32_t>(scaled + kRoundingShift));
  }
}

// Sign and the nearest of 0, 1, 2, 4 .. 64 (codes 0, 1, 2 .. 7) to |value| * inverse, which is at most 64.5. Signed
// integers throughout: those are what every instruction set compares.
SHOAL_INLINE std::int32_t e3m0_code(float value, float inverse) {
  const auto all = std::bit_cast<std::int32_t>(value * inverse);
  const std::int32_t bits = all & 0x7FFFFFFF;
  const std::int32_t level = (((bits >> 22) + 1) >> 1) - kExponentOfHalf;  // half an octave up goes up
  const std::int32_t lowest = bits >= (kExponentOfHalf << 23) ? 1 : 0;     // from 0.5 on, 1 is nearer than 0
  return std::max(level, lowest) | ((all >> 28) & 8);
}

// half: values of the low nibbles; those of the high ones follow, and an odd tail leaves its last nibble 0.
SHOAL_INLINE void e3m0_block(const float* __restrict values, float inverse, std::uint8_t* __restrict codes,
                             std::size_t half, std::size_t others) {
  for (std::size_t i = 0; i < others; ++i) {
    codes[i] = static_cast<std::uint8_t>(e3m0_code(values[i], inverse) | e3m0_code(values[half + i], inverse) << 4);
  }
  if (others < half) codes[others] = static_cast<std::uint8_t>(e3m0_code(values[others], inverse));
}

SHOAL_INLINE float e3m0_value(std::uint32_t code) {
  const std::uint32_t level = code & 7U;
  const std::uint32_t bits = level == 0 ? 0 : (level + 120U) << 23U;  // 7 is 1.0
  return std::bit_cast<float>(bits | ((code & 8U) << 28U));
}

SHOAL_INLINE void e3m0_values(const std::uint8_t* __restrict codes, float scale, float* __restrict out,
                              std::size_t half, std::size_t others) {
  for (std::size_t i = 0; i < half; ++i) out[i] = e3m0_value(codes[i] & 15U) * scale;
  for (std::size_t i = 0; i < others; ++i)
    out[half + i] = e3m0_value(static_cast<std::uint32_t>(codes[i]) >> 4U) * scale;
}

}  // namespace

SHOAL_VECTOR_CLONES std::uint32_t largest_magnitude(const float* values, std::size_t count) {
  return largest_in(values, count);
}

SHOAL_VECTOR_CLONES std::uint32_t largest_magnitude_of_bf16(const std::uint16_t* values, std::size_t count) {
  std::uint32_t largest = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t bits = values[i] & 0x7FFFU;
    largest = bits > largest ? bits : largest;
  }
  return largest << 16U;
}

SHOAL_VECTOR_CLONES std::uint32_t encode_bf16(const float* __restrict values, std::uint16_t* __restrict out,
                                              std::size_t count) {
  std::uint32_t largest = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t bits = magnitude_bits(values[i]);
    largest = bits > largest ? bits : largest;
    out[i] = to_bf16(values[i]);
  }
  return largest;
}

SHOAL_VECTOR_CLONES void decode_bf16(const std::uint16_t* __restrict values, float* __restrict out, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) out[i] = std::bit_cast<float>(bits_of_bf16(values[i]));
}

SHOAL_VECTOR_CLONES std::uint32_t encode_int8(const float* values, float* scales, std::uint8_t* codes,
                                              std::size_t count) {
  std::uint32_t largest = 0;
  for (std::size_t begin = 0; begin < count; begin += kWireBlock) {
    const std::size_t length = std::min(kWireBlock, count - begin);
    const bool is_whole = length == kWireBlock;
    const std::uint32_t block = is_whole ? largest_in(values + begin, kWireBlock) : largest_in(values + begin, length);
    largest = std::max(largest, block);
    const bool is_flushed = block < kFlushedBelow;
    const float magnitude = std::bit_cast<float>(block);
    const float inverse = is_flushed ? 0 : kInt8Max / magnitude;
    scales[begin / kWireBlock] = is_flushed ? 0 : magnitude / kInt8Max;
    if (is_whole) {
      int8_block(values + begin, inverse, codes + begin, kWireBlock);
    } else {
      int8_block(values + begin, inverse, codes + begin, length);
    }
  }
  return largest;
}

SHOAL_VECTOR_CLONES void decode_int8(const float* scales, const std::uint8_t* __restrict codes, float* __restrict out,
                                     std::size_t count) {
  for (std::size_t begin = 0; begin < count; begin += kWireBlock) {
    const float scale = scales[begin / kWireBlock];
    const std::size_t end = std::min(begin + kWireBlock, count);
    for (std::size_t i = begin; i < end; ++i) out[i] = static_cast<float>(static_cast<std::int8_t>(codes[i])) * scale;
  }
}

SHOAL_VECTOR_CLONES std::uint32_t encode_e3m0(const float* values, std::uint16_t* scales, std::uint8_t* codes,
                                              std::size_t count) {
  std::uint32_t largest = 0;
  for (std::size_t begin = 0; begin < count; begin += kWireBlock) {
    const std::size_t length = std::min(kWireBlock, count - begin);
    const bool is_whole = length == kWireBlock;
    const std::uint32_t block = is_whole ? largest_in(values + begin, kWireBlock) : largest_in(values + begin, length);
    largest = std::max(largest, block);
    const std::uint16_t scale = block < kFlushedBelow ? std::uint16_t{0} : to_bf16(std::bit_cast<float>(block));
    const float inverse = scale == 0 ? 0 : 64 / std::bit_cast<float>(bits_of_bf16(scale));
    scales[begin / kWireBlock] = scale;
    if (is_whole) {
      e3m0_block(values + begin, inverse, codes + begin / 2, kHalfBlock, kHalfBlock);
    } else {
      e3m0_block(values + begin, inverse, codes + begin / 2, (length + 1) / 2, length / 2);
    }
  }
  return largest;
}

SHOAL_VECTOR_CLONES void decode_e3m0(const std::uint16_t* scales, const std::uint8_t* codes, float* out,
                                     std::size_t count) {
  for (std::size_t begin = 0; begin < count; begin += kWireBlock) {
    const float scale = std::bit_cast<float>(bits_of_bf16(scales[begin / kWireBlock]));
    const std::size_t length = std::min(kWireBlock, count - begin);
    if (length == kWireBlock) {
      e3m0_values(codes + begin / 2, scale, out + begin, kHalfBlock, kHalfBlock);
    } else {
      e3m0_values(codes + begin / 2, scale, out + begin, (length + 1) / 2, length / 2);
    }
  }
}

SHOAL_VECTOR_CLONES void add_floats(const float* __restrict more, float* __restrict total, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) total[i] += more[i];
}

SHOAL_VECTOR_CLONES void subtract_floats(const float* __restrict wanted, const float* __restrict sent,
                                         float* __restrict error, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) error[i] = wanted[i] - sent[i];
}

}  // namespace shoal
