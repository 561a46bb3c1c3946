// Kernels of a step's sums: a microbatch's gradient into the accumulators, and the step's sum into the mean.
//
// The same bits as model/update_kernels.h: one element is step_elements.h in both. A gradient is added only if all of
// its values are in range, which find_beyond() learns on the stream before: no answer travels to the host in between.
#pragma once

#include "runtime/device/cuda/kernels/launch.h"

namespace shoal::gpu {

// *is_bad = 1 if a value is no number, or |value| > limit; else *is_bad stays as it is.
[[nodiscard]] LaunchError find_beyond(const float* values, std::size_t count, float limit, unsigned* is_bad,
                                      Stream stream);

struct ExactSums {
  std::int64_t* sums = nullptr;
  int fraction_bits = 0;
  const unsigned* is_bad = nullptr;  // nothing is added if it is 1
};
// sums[i] += round(values[i] * 2^fraction_bits), halves away from zero.
[[nodiscard]] LaunchError accumulate_exact(const float* values, std::size_t count, const ExactSums& into,
                                           Stream stream);
// sums[i] += values[i], unless *is_bad.
[[nodiscard]] LaunchError accumulate_fast(const float* values, std::size_t count, float* sums, const unsigned* is_bad,
                                          Stream stream);

struct MeanOfExact {
  const std::int64_t* sums = nullptr;
  int fraction_bits = 0;
  std::uint64_t tokens = 0;  // at least 1
};
[[nodiscard]] LaunchError mean_of_exact(const MeanOfExact& from, std::size_t count, float* means, Stream stream);
[[nodiscard]] LaunchError mean_of_fast(const float* sums, std::size_t count, std::uint64_t tokens, float* means,
                                       Stream stream);

// *norm = the sum of squares in double, in the order of shoal::squared_norm(). block_sums: room for norm_blocks(count).
[[nodiscard]] std::size_t norm_blocks(std::size_t count);
[[nodiscard]] LaunchError squared_norm(const float* values, std::size_t count, double* block_sums, double* norm,
                                       Stream stream);

}  // namespace shoal::gpu
