// SwiGLU's gate in bf16, silu(gate) up, as a differentiable operator over our own kernel on the CPU; on other devices
// by torch's operators, which compute in float32 and round once. One pass over the values each way; torch's operators
// need three and five, and keep one result more.
#pragma once

#include <utility>

#include <ATen/core/Tensor.h>

namespace shoal {

// gate, up: bf16 of one shape. Returns a tensor of that shape.
[[nodiscard]] at::Tensor bf16_swiglu(const at::Tensor& gate, const at::Tensor& up);
// Returns the gradients of gate and up.
[[nodiscard]] std::pair<at::Tensor, at::Tensor> bf16_swiglu_backward(const at::Tensor& gate, const at::Tensor& up,
                                                                     const at::Tensor& dy);

}  // namespace shoal
