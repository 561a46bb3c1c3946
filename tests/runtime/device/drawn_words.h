// Draws words for tests of digests: the same for each count.
// Nothing here knows a device, so that tests of kernels may include it, too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace shoal {

inline std::vector<std::uint32_t> drawn(std::size_t words) {
  std::mt19937 random(static_cast<unsigned>(words));
  std::vector<std::uint32_t> values(words);
  for (auto& value : values) value = static_cast<std::uint32_t>(random());
  return values;
}

}  // namespace shoal
