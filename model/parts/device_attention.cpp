// Not seen on a GPU yet.
#include "model/parts/device_attention.h"

#include <ATen/ops/_scaled_dot_product_efficient_attention.h>
#include <ATen/ops/_scaled_dot_product_efficient_attention_backward.h>
#include <ATen/ops/empty.h>

namespace shoal {

std::tuple<at::Tensor, at::Tensor> attend_on_device(const at::Tensor& q_BHTD, const at::Tensor& k_BHTD,
                                                    const at::Tensor& v_BHTD) {
  auto all = at::_scaled_dot_product_efficient_attention(q_BHTD, k_BHTD, v_BHTD, std::nullopt, true, 0.0, true);
  return {std::get<0>(all), std::get<1>(all)};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> attend_on_device_backward(const at::Tensor& dy_BHTD,
                                                                         const DeviceAttention& forward) {
  const at::Tensor no_random = at::empty({}, at::TensorOptions(at::kLong));
  auto all = at::_scaled_dot_product_efficient_attention_backward(
      dy_BHTD, forward.q_BHTD, forward.k_BHTD, forward.v_BHTD, {}, forward.y_BHTD, forward.logsumexp, no_random,
      no_random, 0.0, {true, true, true, false}, true);
  return {std::get<0>(all), std::get<1>(all), std::get<2>(all)};
}

}  // namespace shoal
