// GELU (tanh form) as a differentiable operator over our own kernel. float32 on the CPU.
// at::gelu computes the same function; this one costs one exponential per element and direction.
#pragma once

#include <ATen/core/Tensor.h>

namespace shoal {

// Returns a tensor of x's shape and dtype.
[[nodiscard]] at::Tensor tanh_gelu(const at::Tensor& x);
// Its gradient: dy times the slope at x. Returns a tensor of x's shape and dtype.
[[nodiscard]] at::Tensor tanh_gelu_backward(const at::Tensor& x, const at::Tensor& dy);

}  // namespace shoal
