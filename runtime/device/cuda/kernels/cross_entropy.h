// Kernels of the loss over the vocabulary: from logits to their gradient in place, so that no float32 logits are ever
// made where products give bf16.
//
// One block per row, two passes: the largest logit and the sum of exponentials, kept up to date as it reads; then
// softmax minus the target, over the logits. Sums run in a fixed order.
#pragma once

#include "runtime/device/cuda/kernels/launch.h"

namespace shoal::gpu {

struct LossShape {
  std::size_t rows = 0;        // N
  std::size_t vocabulary = 0;  // V
  std::size_t stride = 0;      // from row to row: V or more, a multiple of 8, at most kStrideMost (else kRefusedShape)
};
inline constexpr std::size_t kStrideMost = std::size_t{1} << 30U;

template <class T>
struct LossArrays {
  T* logits = nullptr;                    // in: logits; out: d(sum of losses)/d(logits), 0 behind the vocabulary
  const std::int32_t* targets = nullptr;  // [N], below V; -1 is not counted
  float* losses = nullptr;                // [N]: -log softmax(logits)[target], or 0
};
[[nodiscard]] LaunchError loss_and_gradient(const LossShape& shape, const LossArrays<float>& arrays, Stream stream);
[[nodiscard]] LaunchError loss_and_gradient(const LossShape& shape, const LossArrays<Bf16>& arrays, Stream stream);

// *sum = the losses' sum, in double, in a fixed order.
[[nodiscard]] LaunchError sum_losses(const float* losses, std::size_t count, double* sum, Stream stream);

}  // namespace shoal::gpu
