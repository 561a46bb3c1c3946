// Values for tests of kernels: drawn from a seed, compared by bits or by distance.
// Equal seeds give equal values.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "runtime/device/cuda/kernels/launch.h"
#include "tests/model/random_values.h"

namespace shoal::gpu {

// Equal bits, so that -0 is not 0 and NaN is itself.
template <class T>
[[nodiscard]] bool are_same(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

// The largest distance, relative to max(1, |wanted|); infinite where one is no number.
template <class T>
[[nodiscard]] double distance(const std::vector<T>& got, const std::vector<double>& wanted) {
  if (got.size() != wanted.size()) return INFINITY;
  double most = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double apart = std::fabs(static_cast<double>(got[i]) - wanted[i]) / std::max(1.0, std::fabs(wanted[i]));
    most = apart <= INFINITY ? std::max(most, apart) : INFINITY;
  }
  return most;
}

[[nodiscard]] inline std::vector<float> floats_of(const std::vector<Bf16>& values) {
  std::vector<float> floats;
  for (const Bf16 value : values) floats.push_back(float_of(static_cast<std::uint32_t>(value.bits) << 16U));
  return floats;
}

[[nodiscard]] inline const std::vector<float>& floats_of(const std::vector<float>& values) { return values; }

// Rounded to nearest, ties to even.
[[nodiscard]] inline std::vector<Bf16> bf16_of_all(const std::vector<float>& values) {
  std::vector<Bf16> rounded;
  for (const float value : values) {
    const std::uint32_t bits = bits_of(value);
    rounded.push_back({static_cast<std::uint16_t>((bits + 0x7FFFU + ((bits >> 16U) & 1U)) >> 16U)});
  }
  return rounded;
}

}  // namespace shoal::gpu
