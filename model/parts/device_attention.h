// Causal attention on devices other than the processor: torch's memory-efficient operator, which has float32.
// Flash attention takes half the bytes and no float32. Nothing is dropped in it, so it has no state of random numbers.
// Shape letters: B sequences, H heads, T tokens, D elements of a head.
#pragma once

#include <tuple>

#include <ATen/core/Tensor.h>

namespace shoal {

// Returns y [B,H,T,D] and the logarithms of sums that the backward needs.
[[nodiscard]] std::tuple<at::Tensor, at::Tensor> attend_on_device(const at::Tensor& q_BHTD, const at::Tensor& k_BHTD,
                                                                  const at::Tensor& v_BHTD);

struct DeviceAttention {
  const at::Tensor& q_BHTD;
  const at::Tensor& k_BHTD;
  const at::Tensor& v_BHTD;
  const at::Tensor& y_BHTD;
  const at::Tensor& logsumexp;
};

// Returns dq, dk, dv.
[[nodiscard]] std::tuple<at::Tensor, at::Tensor, at::Tensor> attend_on_device_backward(const at::Tensor& dy_BHTD,
                                                                                       const DeviceAttention& forward);

}  // namespace shoal
