// Projections, x W + b, whose backward can leave the weights' half for later: a stage answers its neighbour with dx
// first, and computes dW = x^T dy and db = sum of dy when nothing else is waiting.
//
// Qi et al., "Zero Bubble Pipeline Parallelism" (2023) split the backward pass like this. Values are those of
// autograd's own formulas, bit for bit, whether they are left for later or not. Shape letters: B sequences, T tokens, N
// = B T, I inputs, O outputs.
#pragma once

#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

namespace shoal {

// x_BTI: float32 [B,T,I]; weight_IO: float32 [I,O], as in GPT-2's checkpoints; bias_O: float32 [O]. Returns [B,T,O].
[[nodiscard]] at::Tensor project(const at::Tensor& x_BTI, const at::Tensor& weight_IO, const at::Tensor& bias_O);

// Holds what one backward pass has left, the inputs and gradients of the projections, until it is destroyed.
class LaterGradients {
 public:
  struct Left {
    at::Tensor weight_IO;
    at::Tensor bias_O;
    at::Tensor x_NI;
    at::Tensor dy_NO;
  };

  void add(Left left) { left_.push_back(std::move(left)); }
  // Computes it: float32 of the shape of `parameter`, a weight or a bias that was given to project(). Undefined:
  // nothing was left for it. A parameter is used by one projection (CHECKed).
  [[nodiscard]] at::Tensor of(const at::Tensor& parameter) const;

 private:
  std::vector<Left> left_;
};

// While it lives, backward passes on this thread leave the weights' half of projections to `later`.
class LeavingForLater {
 public:
  explicit LeavingForLater(LaterGradients& later);
  ~LeavingForLater();
  LeavingForLater(const LeavingForLater&) = delete;
  LeavingForLater& operator=(const LeavingForLater&) = delete;
};

}  // namespace shoal
