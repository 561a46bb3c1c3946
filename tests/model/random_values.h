// Normally distributed values for tests of kernels.
// Equal generators give equal values.
#pragma once

#include <random>
#include <vector>

namespace shoal {

inline std::vector<float> normal(std::mt19937& random, std::size_t count, float deviation) {
  std::normal_distribution<float> distribution(0, deviation);
  std::vector<float> values(count);
  for (float& value : values) value = distribution(random);
  return values;
}

}  // namespace shoal
