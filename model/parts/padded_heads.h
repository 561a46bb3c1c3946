// Attention over heads that are padded with zeros to a size that a device's kernels take.
//
// Zeros add nothing to the product of a query and a key, and values of zero give results of zero. So with the scale of
// the heads' own size, 1 / sqrt(D), the first D elements of results and gradients are those of the heads themselves,
// and what is cut off behind them is zero. Heads of the kernels' size pass as they are. P: elements of a padded head.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <tuple>

#include <ATen/core/Tensor.h>
#include <ATen/ops/constant_pad_nd.h>

#include "model/parts/device_attention.h"

namespace shoal {

[[nodiscard]] inline at::Tensor padded_heads(const at::Tensor& x_BHTD, std::int64_t size) {
  return x_BHTD.size(3) == size ? x_BHTD : at::constant_pad_nd(x_BHTD, {0, size - x_BHTD.size(3)});
}

[[nodiscard]] inline at::Tensor cut_heads(const at::Tensor& x_BHTP, std::int64_t size) {
  return x_BHTP.size(3) == size ? x_BHTP : x_BHTP.narrow(3, 0, size);
}

// None: the operator's own, which is that of the size it sees.
[[nodiscard]] inline std::optional<double> scale_of_heads(std::int64_t own_size, std::int64_t padded_size) {
  if (own_size == padded_size) return std::nullopt;
  return 1 / std::sqrt(static_cast<double>(own_size));
}

// attend: (q, k, v, scale) -> (y, logarithms of the rows' sums), of heads of `size`.
template <class Attend>
[[nodiscard]] std::tuple<at::Tensor, at::Tensor> attend_padded(std::int64_t size, const at::Tensor& q_BHTD,
                                                               const at::Tensor& k_BHTD, const at::Tensor& v_BHTD,
                                                               const Attend& attend) {
  const std::int64_t own = q_BHTD.size(3);
  const std::tuple<at::Tensor, at::Tensor> result = attend(padded_heads(q_BHTD, size), padded_heads(k_BHTD, size),
                                                           padded_heads(v_BHTD, size), scale_of_heads(own, size));
  return {cut_heads(std::get<0>(result), own), std::get<1>(result)};
}

// attend_backward: (dy, DeviceAttention, scale) -> (dq, dk, dv), of heads of `size`.
template <class AttendBackward>
[[nodiscard]] std::tuple<at::Tensor, at::Tensor, at::Tensor> attend_padded_backward(
    std::int64_t size, const at::Tensor& dy_BHTD, const DeviceAttention& forward,
    const AttendBackward& attend_backward) {
  const std::int64_t own = dy_BHTD.size(3);
  const at::Tensor q = padded_heads(forward.q_BHTD, size), k = padded_heads(forward.k_BHTD, size);
  const at::Tensor v = padded_heads(forward.v_BHTD, size), y = padded_heads(forward.y_BHTD, size);
  const DeviceAttention padded{q, k, v, y, forward.logsumexp_BHT};
  const std::tuple<at::Tensor, at::Tensor, at::Tensor> gradients =
      attend_backward(padded_heads(dy_BHTD, size), padded, scale_of_heads(own, size));
  return {cut_heads(std::get<0>(gradients), own), cut_heads(std::get<1>(gradients), own),
          cut_heads(std::get<2>(gradients), own)};
}

}  // namespace shoal
