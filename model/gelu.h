// GELU (tanh form) as a differentiable operator over our own kernel. float32 on the CPU.
#pragma once

#include <ATen/core/Tensor.h>

namespace shoal {

// Of x's shape.
[[nodiscard]] at::Tensor gelu(const at::Tensor& x);

}  // namespace shoal
