// The loops of the wire formats: plain memory in, plain memory out. What the bytes mean stands in wire_codec.h.
//
// IEEE operations without contraction, so that every CPU gives the same bytes for the same values and the same values
// for the same bytes. Nothing is checked here: the encoders give the largest magnitude they met, and whoever calls
// decides what is beyond range before anything is sent.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/sync/wire/wire_layout.h"

namespace shoal {

[[nodiscard]] std::uint32_t largest_magnitude(const float* values, std::size_t count);
[[nodiscard]] std::uint32_t largest_magnitude_of_bf16(const std::uint16_t* values, std::size_t count);

// Each gives the largest magnitude of the values; with one beyond range the output means nothing.
[[nodiscard]] std::uint32_t encode_bf16(const float* values, std::uint16_t* out, std::size_t count);
[[nodiscard]] std::uint32_t encode_int8(const float* values, float* scales, std::uint8_t* codes, std::size_t count);
[[nodiscard]] std::uint32_t encode_e3m0(const float* values, std::uint16_t* scales, std::uint8_t* codes,
                                        std::size_t count);

void decode_bf16(const std::uint16_t* values, float* out, std::size_t count);
void decode_int8(const float* scales, const std::uint8_t* codes, float* out, std::size_t count);
void decode_e3m0(const std::uint16_t* scales, const std::uint8_t* codes, float* out, std::size_t count);

// total[i] += more[i]; error[i] = wanted[i] - sent[i].
void add_floats(const float* more, float* total, std::size_t count);
void subtract_floats(const float* wanted, const float* sent, float* error, std::size_t count);

}  // namespace shoal
