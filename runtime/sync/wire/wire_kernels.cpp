// One function per block, inlined into the loop over blocks; a whole block has a constant length, which is what lets
// the compiler unroll it.
#include "runtime/sync/wire/wire_kernels.h"

#include <algorithm>

#include "runtime/base/arithmetic/vector_clones.h"

#define SHOAL_INLINE inline __attribute__((always_inline))

namespace shoal {
namespace {

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
  for (std::size_t i = 0; i < count; ++i) codes[i] = int8_code(values[i], inverse);
}

// half: values of the low nibbles; those of the high ones follow, and an odd tail leaves its last nibble 0.
SHOAL_INLINE void e3m0_block(const float* __restrict values, float inverse, std::uint8_t* __restrict codes,
                             std::size_t half, std::size_t others) {
  for (std::size_t i = 0; i < others; ++i) {
    codes[i] = static_cast<std::uint8_t>(e3m0_code(values[i], inverse) | e3m0_code(values[half + i], inverse) << 4);
  }
  if (others < half) codes[others] = static_cast<std::uint8_t>(e3m0_code(values[others], inverse));
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
  for (std::size_t i = 0; i < count; ++i) out[i] = float_of_bf16(values[i]);
}

SHOAL_VECTOR_CLONES std::uint32_t encode_int8(const float* values, float* scales, std::uint8_t* codes,
                                              std::size_t count) {
  std::uint32_t largest = 0;
  for (std::size_t begin = 0; begin < count; begin += kWireBlock) {
    const std::size_t length = std::min(kWireBlock, count - begin);
    const bool is_whole = length == kWireBlock;
    const std::uint32_t block = is_whole ? largest_in(values + begin, kWireBlock) : largest_in(values + begin, length);
    largest = std::max(largest, block);
    const auto [scale, inverse] = int8_scale(block);
    scales[begin / kWireBlock] = scale;
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
    for (std::size_t i = begin; i < end; ++i) out[i] = int8_value(codes[i], scale);
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
    const auto [scale, inverse] = e3m0_scale(block);
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
    const float scale = float_of_bf16(scales[begin / kWireBlock]);
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
