// Kernels of the optimiser's step. The same bits as apply_adamw() and apply_sgd() of model/update_kernels.h; one
// element is step_elements.h in both.
//
// Weights stay float32. A copy of them in bf16, for products, is written in the same pass where one is kept.
#pragma once

#include "model/arithmetic/step_elements.h"
#include "runtime/device/cuda/kernels/launch.h"
#include "runtime/device/cuda/kernels/tensor_chunks.h"

namespace shoal::gpu {

struct AdamwArrays {
  float* weights = nullptr;
  float* exp_avg = nullptr;
  float* exp_avg_sq = nullptr;
  const float* gradient = nullptr;
  Bf16* copy = nullptr;  // nullptr: none is kept
};
// All tensors of flat arrays; the copy's are at TensorSpan::copy. coefficients: of each tensor, on the device.
[[nodiscard]] LaunchError apply_adamw(const TensorChunks& chunks, const AdamwCoefficients* coefficients,
                                      const AdamwArrays& arrays, Stream stream);

struct SgdArrays {
  float* weights = nullptr;
  const float* gradient = nullptr;
  Bf16* copy = nullptr;
};
[[nodiscard]] LaunchError apply_sgd(const SgdCoefficients& coefficients, const SgdArrays& arrays, std::size_t count,
                                    Stream stream);

}  // namespace shoal::gpu
