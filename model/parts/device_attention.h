// Causal attention on devices other than the processor, by the operators that attention_choice.h names: bits must
// repeat where torch's deterministic algorithms are on, and cuDNN's is there where torch's own switch for it is.
// Nothing is dropped in them, so they have no state of random numbers. Shape letters: B sequences, H heads, T tokens,
// D elements of a head.
#pragma once

#include <tuple>

#include <ATen/core/Tensor.h>

namespace shoal {

// Returns y [B,H,T,D] and, for the backward, the logarithms of the rows' sums [B,H,T], float32.
[[nodiscard]] std::tuple<at::Tensor, at::Tensor> attend_on_device(const at::Tensor& q_BHTD, const at::Tensor& k_BHTD,
                                                                  const at::Tensor& v_BHTD);

struct DeviceAttention {
  const at::Tensor& q_BHTD;
  const at::Tensor& k_BHTD;
  const at::Tensor& v_BHTD;
  const at::Tensor& y_BHTD;
  const at::Tensor& logsumexp_BHT;
};

// Returns dq, dk, dv.
[[nodiscard]] std::tuple<at::Tensor, at::Tensor, at::Tensor> attend_on_device_backward(const at::Tensor& dy_BHTD,
                                                                                       const DeviceAttention& forward);

}  // namespace shoal
