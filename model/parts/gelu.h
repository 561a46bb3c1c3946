// GELU (tanh form) as a differentiable operator: over our own kernel for float32 and bf16 on the CPU, torch's on other
// devices. at::gelu computes the same function; ours costs one exponential per element and direction.
#pragma once

#include <ATen/core/Tensor.h>

namespace shoal {

// Returns a tensor of x's shape and dtype.
[[nodiscard]] at::Tensor tanh_gelu(const at::Tensor& x);
// Its gradient: dy times the slope at x. Returns a tensor of x's shape and dtype.
[[nodiscard]] at::Tensor tanh_gelu_backward(const at::Tensor& x, const at::Tensor& dy);

}  // namespace shoal
