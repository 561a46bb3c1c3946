// Kernels of a residual and the norm behind it, in one pass: sum = x + branch, y = norm(sum); and their backward.
//
// LayerNorm and RMSNorm as in model/layer_list.h, over rows of C. The residual stream, statistics and parameters are
// float32; branch, y and its gradient are T, float or Bf16. Sums over a row run in a fixed order that is not torch's,
// so that results repeat on a GPU but are the CPU's only within rounding.
#pragma once

#include "runtime/device/cuda/kernels/launch.h"

namespace shoal::gpu {

enum class NormRule { kLayer, kRms };

[[nodiscard]] constexpr bool takes_norm_of(std::size_t width) { return width % 4 == 0 && width <= 16384; }

struct NormShape {
  NormRule rule = NormRule::kLayer;
  std::size_t rows = 0;   // N
  std::size_t width = 0;  // C: takes_norm_of() (else kRefusedShape)
  float eps = 0;
};

template <class T>
struct NormForward {
  const float* x_NC = nullptr;
  const T* branch_NC = nullptr;  // nullptr: there is none, and sum_NC is not written
  const float* weight_C = nullptr;
  const float* bias_C = nullptr;  // nullptr: none
  float* sum_NC = nullptr;        // may be x
  T* y_NC = nullptr;
  float* mean_N = nullptr;  // kLayer alone
  float* rstd_N = nullptr;  // 1 / sqrt(variance + eps), or of the mean square
};
[[nodiscard]] LaunchError residual_norm(const NormShape& shape, const NormForward<float>& arrays, Stream stream);
[[nodiscard]] LaunchError residual_norm(const NormShape& shape, const NormForward<Bf16>& arrays, Stream stream);

template <class T>
struct NormBackward {
  const float* sum_NC = nullptr;  // the norm's input
  const float* mean_N = nullptr;
  const float* rstd_N = nullptr;
  const float* weight_C = nullptr;
  const T* dy_NC = nullptr;
  const float* around_NC = nullptr;  // the gradient that goes round the norm; nullptr: none
  float* dx_NC = nullptr;            // around + the norm's; may be around
  float* dweight_C = nullptr;
  float* dbias_C = nullptr;  // nullptr: none
  float* parts = nullptr;    // room for norm_parts(shape) floats
  Bf16* copy_NC = nullptr;   // of dx; nullptr: none is kept
};
[[nodiscard]] std::size_t norm_parts(const NormShape& shape);
[[nodiscard]] LaunchError residual_norm_backward(const NormShape& shape, const NormBackward<float>& arrays,
                                                 Stream stream);
[[nodiscard]] LaunchError residual_norm_backward(const NormShape& shape, const NormBackward<Bf16>& arrays,
                                                 Stream stream);

}  // namespace shoal::gpu
