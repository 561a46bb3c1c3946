// Products of matrices with operands in bf16 and sums in float32: what model.precision = "bf16" is about.
//
//   y  = x W (+ b)   result in bf16, or in float32 for the residual stream and the logits
//   dx = dy W^T      in bf16, as x is
//   dW = x^T dy      in float32: not a bit of the sum over a microbatch's tokens is rounded away to bf16
//   db = sum of dy   in float32
//
// On the CPU sums in float32 are ours (float_product.h); other devices' torch has them. W and b are float32 and are
// stepped as such; a product reads bf16 copies of them (copies.h). Equal shapes give equal bits in every process with
// the same kernel fingerprint. Shape letters: I inputs, O outputs, N = B T.
#pragma once

#include <optional>

#include <ATen/core/Tensor.h>

#include "model/layer_list.h"

namespace shoal {

// A parameter that a product reads.
struct Bf16Factor {
  at::Tensor value;  // float32: gets the gradient
  at::Tensor copy;   // bf16: is read
};

// x: bf16 [N,I]; result: at::kBFloat16 or at::kFloat. Differentiable with respect to x, W and b.
[[nodiscard]] at::Tensor bf16_product(const at::Tensor& x_NI, const Bf16Factor& weight,
                                      const std::optional<Bf16Factor>& bias, Orientation orientation,
                                      at::ScalarType result);

// Gradients of that. dy: bf16 [N,O]; weight: the copy. dW has the weight's shape.
[[nodiscard]] at::Tensor bf16_input_gradient(const at::Tensor& dy_NO, const at::Tensor& weight,
                                             Orientation orientation);
[[nodiscard]] at::Tensor bf16_weight_gradient(const at::Tensor& x_NI, const at::Tensor& dy_NO, Orientation orientation);
// dy: bf16 [N,O]. Returns float32 [O].
[[nodiscard]] at::Tensor bf16_bias_gradient(const at::Tensor& dy_NO);

}  // namespace shoal
