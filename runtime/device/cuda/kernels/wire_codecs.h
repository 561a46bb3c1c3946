// Kernels of the wire formats: float32 to int8, E3M0 and bf16, and back. The same bytes and values as
// runtime/sync/wire/wire_kernels.h; one value is wire_elements.h in both, and wire_codec.h has the layout.
//
// Nothing is checked here. An encoder raises *largest to the largest magnitude that it met, as bits (magnitude_bits());
// beyond 2^100 (is_carried()) its output means nothing. *largest is 0 before.
#pragma once

#include "runtime/device/cuda/kernels/launch.h"

namespace shoal::gpu {

struct EncodedInt8 {
  float* scales = nullptr;  // one per 256 values
  std::uint8_t* codes = nullptr;
};
[[nodiscard]] LaunchError encode_int8(const float* values, std::size_t count, const EncodedInt8& into,
                                      std::uint32_t* largest, Stream stream);
[[nodiscard]] LaunchError decode_int8(const EncodedInt8& from, std::size_t count, float* values, Stream stream);

struct EncodedE3m0 {
  std::uint16_t* scales = nullptr;  // bf16, one per 256 values
  std::uint8_t* codes = nullptr;    // two values a byte
};
[[nodiscard]] LaunchError encode_e3m0(const float* values, std::size_t count, const EncodedE3m0& into,
                                      std::uint32_t* largest, Stream stream);
[[nodiscard]] LaunchError decode_e3m0(const EncodedE3m0& from, std::size_t count, float* values, Stream stream);

[[nodiscard]] LaunchError encode_bf16(const float* values, std::size_t count, std::uint16_t* into,
                                      std::uint32_t* largest, Stream stream);
[[nodiscard]] LaunchError decode_bf16(const std::uint16_t* from, std::size_t count, float* values, Stream stream);

// to[i] = from[i] where no format carries them, and nothing elsewhere: behind an encoder, or a decoder.
[[nodiscard]] LaunchError copy_uncarried(const std::uint32_t* largest, const float* from, std::size_t count, float* to,
                                         Stream stream);

}  // namespace shoal::gpu
