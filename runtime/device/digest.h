// The cheap digest of every step (S-3, P-27b): XXH3-64 over blocks, so that a GPU can compute them all at once. Not a
// defence against forgery. Torch-free.
//
//   a tensor's bytes:  | 16 KiB | 16 KiB | ... | the rest |      blocks from its own start, the last one shorter
//   block value:       XXH3-64 (seed 0) of the block's bytes
//   digest:            XXH3-64 of all block values, 8 bytes each, little-endian, tensor after tensor
//
// Equal bytes in tensors of equal sizes give equal digests, whatever computed the block values
// (runtime/device/cuda/kernels/block_digest.h does it on a GPU). A block's value is a 2048th of its bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace shoal {

inline constexpr std::size_t kDigestBlock = 16384;  // bytes

[[nodiscard]] constexpr std::size_t digest_blocks(std::size_t byte_count) {
  return (byte_count + kDigestBlock - 1) / kDigestBlock;
}

// Appends a tensor's block values.
void append_block_values(std::span<const std::byte> tensor, std::vector<std::uint64_t>& values);

class Digest {
 public:
  void add(std::span<const std::byte> tensor) { append_block_values(tensor, values_); }
  // Block values that something else has computed.
  void add_values(std::span<const std::uint64_t> values);
  [[nodiscard]] std::uint64_t value() const;

 private:
  std::vector<std::uint64_t> values_;
};

}  // namespace shoal
