// Kernels of a projection's bias and GELU, in one pass each way. In float32 the same bits as gelu_forward() and
// gelu_backward() of model/activation_kernels.h; one element is gelu_elements.h in both.
//
// T is float or Bf16: what products give and take. Arithmetic is float32; a result is rounded once. The input x is
// without its bias and is kept for the backward, as it is.
#pragma once

#include "runtime/device/cuda/kernels/launch.h"

namespace shoal::gpu {

struct GeluShape {
  std::size_t rows = 0;   // N
  std::size_t width = 0;  // F, a multiple of 8 (else kRefusedShape)
};

template <class T>
struct GeluForward {
  const T* x_NF = nullptr;
  const float* bias_F = nullptr;  // nullptr: none
  T* y_NF = nullptr;              // gelu(x + bias)
};
[[nodiscard]] LaunchError gelu_forward(const GeluShape& shape, const GeluForward<float>& arrays, Stream stream);
[[nodiscard]] LaunchError gelu_forward(const GeluShape& shape, const GeluForward<Bf16>& arrays, Stream stream);

template <class T>
struct GeluBackward {
  const T* x_NF = nullptr;
  const float* bias_F = nullptr;
  const T* dy_NF = nullptr;
  T* dx_NF = nullptr;        // dy * gelu'(x + bias); may be dy
  float* dbias_F = nullptr;  // its sums over the rows, of the values before they are rounded to T
  float* parts = nullptr;    // room for gelu_parts(shape) floats
};
[[nodiscard]] std::size_t gelu_parts(const GeluShape& shape);
[[nodiscard]] LaunchError gelu_backward(const GeluShape& shape, const GeluBackward<float>& arrays, Stream stream);
[[nodiscard]] LaunchError gelu_backward(const GeluShape& shape, const GeluBackward<Bf16>& arrays, Stream stream);

}  // namespace shoal::gpu
