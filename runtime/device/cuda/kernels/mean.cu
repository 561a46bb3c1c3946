// A thread per element: what is read and written is all that it costs.
#include "runtime/device/cuda/kernels/mean.h"

#include <cmath>

#include "model/arithmetic/step_elements.h"
#include "runtime/device/cuda/kernels/launching.cuh"

namespace shoal::gpu {
namespace {

__global__ void mean_exact_kernel(const std::int64_t* sums, std::size_t count, double scale, double tokens,
                                  float* means) {
  for (std::size_t i = first_element(); i < count; i += all_threads()) means[i] = mean_of_fixed(sums[i], scale, tokens);
}

__global__ void mean_fast_kernel(const float* sums, std::size_t count, double tokens, float* means) {
  for (std::size_t i = first_element(); i < count; i += all_threads()) means[i] = mean_of_float(sums[i], tokens);
}

}  // namespace

LaunchError mean_of_exact(const MeanOfExact& from, std::size_t count, float* means, Stream stream) {
  if (count == 0) return kLaunched;
  const double scale = std::ldexp(1.0, -from.fraction_bits);
  const auto tokens = static_cast<double>(from.tokens);
  return launch(grid_over(count), stream, mean_exact_kernel, from.sums, count, scale, tokens, means);
}

LaunchError mean_of_fast(const float* sums, std::size_t count, std::uint64_t tokens, float* means, Stream stream) {
  if (count == 0) return kLaunched;
  return launch(grid_over(count), stream, mean_fast_kernel, sums, count, static_cast<double>(tokens), means);
}

}  // namespace shoal::gpu
