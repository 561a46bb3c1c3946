// Kernels of the outer step. The same bits as model/outer_kernels.h, which says what each computes; one element is
// outer_elements.h in both.
//
// Arrays of one call have one size and do not overlap.
#pragma once

#include "model/arithmetic/outer_elements.h"
#include "runtime/device/cuda/kernels/launch.h"

namespace shoal::gpu {

[[nodiscard]] LaunchError outer_delta(const float* base, const float* local, float* delta, std::size_t count,
                                      Stream stream);

struct OuterArrays {
  float* outer = nullptr;
  float* momentum = nullptr;
  const float* gradient = nullptr;
};
[[nodiscard]] LaunchError apply_nesterov(const OuterCoefficients& coefficients, const OuterArrays& arrays,
                                         std::size_t count, Stream stream);
[[nodiscard]] LaunchError apply_average(float* outer, const float* gradient, std::size_t count, Stream stream);
[[nodiscard]] LaunchError blend(float mix, const float* outer, float* local, std::size_t count, Stream stream);

struct EagerArrays {
  const float* base = nullptr;
  const float* local = nullptr;
  const float* mean = nullptr;
  float* contribution = nullptr;
  float* gradient = nullptr;
};
[[nodiscard]] LaunchError eager_gradient(const EagerWeights& weights, const EagerArrays& arrays, std::size_t count,
                                         Stream stream);

}  // namespace shoal::gpu
