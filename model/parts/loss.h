// Cross-entropy over the vocabulary, summed over the targets that count.
// Shape letters: V vocabulary.
#pragma once

#include <ATen/core/Tensor.h>

namespace shoal {

// Sum over the targets >= 0 of -log softmax(logits), float32 []; targets_BT: int64, -1 is not counted. Differentiable.
[[nodiscard]] at::Tensor loss_sum(const at::Tensor& logits_BTV, const at::Tensor& targets_BT);

struct LossAndGradient {
  at::Tensor loss_sum;     // of the logits' type []
  at::Tensor dlogits_BTV;  // float32
};
// The same sum and its gradient, with autograd's bits. Lets go of the logits as soon as their logarithms are there, so
// that of a caller who keeps none three arrays [tokens, V] exist at most: those, their gradient, and the logits'.
[[nodiscard]] LossAndGradient loss_and_gradient(at::Tensor logits_BTV, const at::Tensor& targets_BT);

}  // namespace shoal
