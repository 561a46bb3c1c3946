// The library's XXH3, block by block.
#include "runtime/device/cuda/kernels/block_digest.h"

#include <xxhash.h>

#include <algorithm>

namespace shoal::gpu {

void append_block_values(std::span<const std::byte> tensor, std::vector<std::uint64_t>& values) {
  while (!tensor.empty()) {
    const auto block = tensor.first(std::min(tensor.size(), kDigestBlock));
    values.push_back(XXH3_64bits(block.data(), block.size()));
    tensor = tensor.subspan(block.size());
  }
}

std::uint64_t digest_of_blocks(std::span<const std::uint64_t> values) {
  return XXH3_64bits(values.data(), values.size_bytes());
}

}  // namespace shoal::gpu
