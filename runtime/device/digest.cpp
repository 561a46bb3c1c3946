// The library's XXH3, block by block.
#include "runtime/device/digest.h"

#include <xxhash.h>

#include <algorithm>
#include <bit>

namespace shoal {

static_assert(std::endian::native == std::endian::little, "block values are hashed as they lie in memory");

void append_block_values(std::span<const std::byte> tensor, std::vector<std::uint64_t>& values) {
  while (!tensor.empty()) {
    const auto block = tensor.first(std::min(tensor.size(), kDigestBlock));
    values.push_back(XXH3_64bits(block.data(), block.size()));
    tensor = tensor.subspan(block.size());
  }
}

void Digest::add_values(std::span<const std::uint64_t> values) {
  values_.insert(values_.end(), values.begin(), values.end());
}

std::uint64_t Digest::value() const { return XXH3_64bits(values_.data(), values_.size() * sizeof(std::uint64_t)); }

}  // namespace shoal
