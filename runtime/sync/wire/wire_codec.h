// Vectors of floats in fewer bytes: what replicas send each other when a round's deltas are summed, and what stages do
// when `pipeline.activations` says so.
//
// An encoded vector is a TensorBlob, uint8 [n], little-endian; B = ceil(count / 256) blocks of 256 values, the last one
// shorter:
//
//   byte 0..3    'S' 'W' 'V' '1'
//        4       format: 0 fp32, 1 bf16, 2 int8, 3 E3M0
//        5..7    0
//        8..15   count of values, unsigned
//       16..63   0
//       64..     fp32  count x float32
//                bf16  count x bf16, rounded to nearest, ties to even
//                int8  B x float32 scale, then count x int8: value = scale * code;
//                      scale = largest / 127,
//                      code rounded to nearest, ties to even
//                E3M0  B x bf16 scale, then for each block of m values ceil(m/2) bytes: byte j holds value j in its low
//                      nibble and value j + ceil(m/2) in its high one (0 where there is none).
//                      nibble = sign * 8 + exponent; value = +-scale * {0, 2^-6, 2^-5 .. 2^-1, 1}[exponent];
//                      scale = the block's largest magnitude as bf16, and each value takes the nearest level
//                      (ties upwards): relative L2 0.19 and cosine 0.98 for Gaussian values
//
// A block whose largest magnitude is below 2^-100 is sent as zeros by int8 and E3M0. NaN, infinities and magnitudes
// above 2^100 are refused, by the encoder and by the decoder, so sums of many vectors cannot overflow unseen.
// Everything the bytes claim is checked before anything is read or written by it: they come from a network.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "messages/tensor_blob.h"
#include "runtime/base/config.h"
#include "runtime/base/error.h"
#include "runtime/sync/wire/wire_layout.h"

namespace shoal {

inline constexpr float kWireMagnitudeMax = 0x1p+100F;

// Returns the bits for a value of a long vector: 32, 16, 8.125, 4.0625.
[[nodiscard]] double bits_per_value(WireFormat format);

// True when all values are numbers of at most this magnitude.
[[nodiscard]] bool are_within(std::span<const float> values, float magnitude_max);

// Fails where a value is not a number or beyond kWireMagnitudeMax, naming the first.
[[nodiscard]] Result<TensorBlob> encode_values(WireFormat format, std::span<const float> values);
// The same of values that were encoded elsewhere: scales and values lie in `bytes` as above, of encoded_bytes(); what
// stands in the header's place is written over.
[[nodiscard]] TensorBlob encoded_elsewhere(const WireShape& shape, std::shared_ptr<AlignedBuffer> bytes);

// Returns what the header says, if the blob has the size that follows from it.
[[nodiscard]] Result<WireShape> wire_shape_of(const TensorBlob& blob);
// Checks that this is an encoded vector of that format and count, and each scale and value is within range.
[[nodiscard]] Status check_encoded(const TensorBlob& blob, const WireShape& expected);
// Writes all of `out`, or fails as check_encoded() does and writes nothing.
[[nodiscard]] Status decode_values(const TensorBlob& blob, WireFormat format, std::span<float> out);
// The same for a blob that check_encoded() found good.
void decode_checked(const TensorBlob& blob, WireFormat format, std::span<float> out);

}  // namespace shoal
