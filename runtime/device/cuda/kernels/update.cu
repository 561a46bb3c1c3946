// A thread per element; all it needs of one lies in registers.
#include "runtime/device/cuda/kernels/update.h"

#include "runtime/device/cuda/kernels/launching.cuh"

namespace shoal::gpu {
namespace {

__global__ void adamw_kernel(AdamwCoefficients k, AdamwArrays at, std::size_t count) {
  for (std::size_t i = first_element(); i < count; i += all_threads()) {
    const AdamwElement before{at.weights[i], at.exp_avg[i], at.exp_avg_sq[i]};
    const AdamwElement after = adamw_of(k, before, at.gradient[i]);
    at.weights[i] = after.weight;
    at.exp_avg[i] = after.exp_avg;
    at.exp_avg_sq[i] = after.exp_avg_sq;
    if (at.copy != nullptr) at.copy[i] = bf16_of(after.weight);
  }
}

__global__ void sgd_kernel(SgdCoefficients k, SgdArrays at, std::size_t count) {
  for (std::size_t i = first_element(); i < count; i += all_threads()) {
    const float weight = sgd_of(k, at.weights[i], at.gradient[i]);
    at.weights[i] = weight;
    if (at.copy != nullptr) at.copy[i] = bf16_of(weight);
  }
}

}  // namespace

LaunchError apply_adamw(const AdamwCoefficients& coefficients, const AdamwArrays& arrays, std::size_t count,
                        Stream stream) {
  if (count == 0) return kLaunched;
  return launch(grid_over(count), stream, adamw_kernel, coefficients, arrays, count);
}

LaunchError apply_sgd(const SgdCoefficients& coefficients, const SgdArrays& arrays, std::size_t count, Stream stream) {
  if (count == 0) return kLaunched;
  return launch(grid_over(count), stream, sgd_kernel, coefficients, arrays, count);
}

}  // namespace shoal::gpu
