// Causal attention on devices other than the processor: in bf16 torch's flash operator, or cuDNN's where bits need not
// repeat (torch's deterministic algorithms are off), heads have at most 128 elements and tokens are 64, 72, ...; in
// float32, which those do not take, and for heads of a size that 8 does not divide its memory-efficient one. Nothing is
// dropped in them, so they have no state of random numbers. Shape letters: B sequences, H heads, T tokens, D elements
// of a head.
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
