// A thread per element. Cases without arithmetic copy or fill, as on the CPU.
#include "runtime/device/cuda/kernels/outer.h"

#include "runtime/device/cuda/kernels/launching.cuh"

namespace shoal::gpu {
namespace {

__global__ void delta_kernel(const float* base, const float* local, float* delta, std::size_t count) {
  for (std::size_t i = first_element(); i < count; i += all_threads()) delta[i] = base[i] - local[i];
}

__global__ void nesterov_kernel(OuterCoefficients k, OuterArrays at, std::size_t count) {
  for (std::size_t i = first_element(); i < count; i += all_threads()) {
    const OuterElement after = nesterov_of(k, {at.outer[i], at.momentum[i]}, at.gradient[i]);
    at.outer[i] = after.outer;
    at.momentum[i] = after.momentum;
  }
}

__global__ void average_kernel(float* outer, const float* gradient, std::size_t count) {
  for (std::size_t i = first_element(); i < count; i += all_threads()) outer[i] = outer[i] - gradient[i];
}

__global__ void blend_kernel(float mix, const float* outer, float* local, std::size_t count) {
  const float rest = 1.0F - mix;
  for (std::size_t i = first_element(); i < count; i += all_threads()) {
    local[i] = mix == 0.0F ? outer[i] : blend_of(mix, rest, outer[i], local[i]);
  }
}

// divisor 0: nobody has weight, and both results are zero.
__global__ void eager_kernel(EagerWeights weights, double divisor, EagerArrays at, std::size_t count) {
  for (std::size_t i = first_element(); i < count; i += all_threads()) {
    EagerElement after;
    if (divisor > 0) {
      after = eager_of(weights, divisor, at.base[i] - at.local[i], at.mean[i], at.contribution[i]);
    }
    at.gradient[i] = after.gradient;
    at.contribution[i] = after.contribution;
  }
}

}  // namespace

LaunchError outer_delta(const float* base, const float* local, float* delta, std::size_t count, Stream stream) {
  if (count == 0) return kLaunched;
  return launch(grid_over(count), stream, delta_kernel, base, local, delta, count);
}

LaunchError apply_nesterov(const OuterCoefficients& coefficients, const OuterArrays& arrays, std::size_t count,
                           Stream stream) {
  if (count == 0) return kLaunched;
  return launch(grid_over(count), stream, nesterov_kernel, coefficients, arrays, count);
}

LaunchError apply_average(float* outer, const float* gradient, std::size_t count, Stream stream) {
  if (count == 0) return kLaunched;
  return launch(grid_over(count), stream, average_kernel, outer, gradient, count);
}

LaunchError blend(float mix, const float* outer, float* local, std::size_t count, Stream stream) {
  if (count == 0 || mix == 1.0F) return kLaunched;
  return launch(grid_over(count), stream, blend_kernel, mix, outer, local, count);
}

LaunchError eager_gradient(const EagerWeights& weights, const EagerArrays& arrays, std::size_t count, Stream stream) {
  if (count == 0) return kLaunched;
  const double divisor = weights.divisor();
  return launch(grid_over(count), stream, eager_kernel, weights, divisor > 0 ? divisor : 0.0, arrays, count);
}

}  // namespace shoal::gpu
