// Digests per block, which a GPU can compute, in the same values as the CPU's.
//
//   a tensor's bytes:  | 16 KiB | 16 KiB | ... | the rest |      blocks from its own start, the last one shorter
//   block value:       XXH3-64 (seed 0) of the block's bytes
//   digest:            XXH3-64 of all block values, 8 bytes each, little-endian, tensor after tensor in the layout's
//   order
//
// Not yet a digest of the protocol: today's is one XXH3 stream over all tensors (runtime/device/digest.h), which no two
// blocks of can be computed at once. Taking this one changes every value, hence the protocol's version. The digest is
// the host's to make: block values are a 2048th of the bytes.
#pragma once

#include <span>
#include <vector>

#include "runtime/device/cuda/kernels/launch.h"

namespace shoal::gpu {

inline constexpr std::size_t kDigestBlock = 16384;  // bytes

[[nodiscard]] constexpr std::size_t digest_blocks(std::size_t byte_count) {
  return (byte_count + kDigestBlock - 1) / kDigestBlock;
}

// values: room for digest_blocks(byte_count). A tensor begins at a multiple of 8 bytes and has a multiple of 4 of them.
[[nodiscard]] LaunchError block_values(const void* tensor, std::size_t byte_count, std::uint64_t* values,
                                       Stream stream);

// The same on the CPU, by the library: appends a tensor's block values.
void append_block_values(std::span<const std::byte> tensor, std::vector<std::uint64_t>& values);
[[nodiscard]] std::uint64_t digest_of_blocks(std::span<const std::uint64_t> values);

}  // namespace shoal::gpu
