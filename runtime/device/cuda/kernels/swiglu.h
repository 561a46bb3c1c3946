// Kernels of SwiGLU's gate, y = silu(gate) up, in one pass each way. In bf16 the same bits as swiglu_forward() and
// swiglu_backward() of model/activation_kernels.h; one element is swiglu_elements.h in both.
//
// T is float or Bf16: what products give and take. Arithmetic is float32; a result is rounded once.
#pragma once

#include "runtime/device/cuda/kernels/launch.h"

namespace shoal::gpu {

// count: a multiple of 8 (else kRefusedShape).
template <class T>
struct SwigluForward {
  const T* gate = nullptr;
  const T* up = nullptr;
  T* y = nullptr;
};
[[nodiscard]] LaunchError swiglu_forward(std::size_t count, const SwigluForward<float>& arrays, Stream stream);
[[nodiscard]] LaunchError swiglu_forward(std::size_t count, const SwigluForward<Bf16>& arrays, Stream stream);

template <class T>
struct SwigluBackward {
  const T* gate = nullptr;
  const T* up = nullptr;
  const T* dy = nullptr;
  T* dgate = nullptr;
  T* dup = nullptr;  // may be dy
};
[[nodiscard]] LaunchError swiglu_backward(std::size_t count, const SwigluBackward<float>& arrays, Stream stream);
[[nodiscard]] LaunchError swiglu_backward(std::size_t count, const SwigluBackward<Bf16>& arrays, Stream stream);

}  // namespace shoal::gpu
