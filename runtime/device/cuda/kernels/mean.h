// The mean of a step's sum, element by element.
// The same bits as model/update_kernels.h: one element is step_elements.h in both.
#pragma once

#include "runtime/device/cuda/kernels/launch.h"

namespace shoal::gpu {

struct MeanOfExact {
  const std::int64_t* sums = nullptr;
  int fraction_bits = 0;
  std::uint64_t tokens = 0;  // at least 1
};
[[nodiscard]] LaunchError mean_of_exact(const MeanOfExact& from, std::size_t count, float* means, Stream stream);
[[nodiscard]] LaunchError mean_of_fast(const float* sums, std::size_t count, std::uint64_t tokens, float* means,
                                       Stream stream);

}  // namespace shoal::gpu
