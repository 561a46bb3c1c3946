// Forward and backward choose alike: by the queries and torch's settings, which do not change in between.
#include "model/parts/device_attention.h"

#include <ATen/Context.h>
#include <ATen/ops/_scaled_dot_product_cudnn_attention.h>
#include <ATen/ops/_scaled_dot_product_cudnn_attention_backward.h>
#include <ATen/ops/_scaled_dot_product_efficient_attention.h>
#include <ATen/ops/_scaled_dot_product_efficient_attention_backward.h>
#include <ATen/ops/_scaled_dot_product_flash_attention.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_backward.h>
#include <ATen/ops/empty.h>

#include "model/parts/attention_choice.h"
#include "model/parts/padded_heads.h"

namespace shoal {
namespace {

using Gradients = std::tuple<at::Tensor, at::Tensor, at::Tensor>;
using Scale = std::optional<double>;

std::int64_t kernel_size_of(const at::Tensor& q_BHTD) {
  return kernel_head_size(q_BHTD.scalar_type() == at::kBFloat16, q_BHTD.size(3));
}

AttentionChoice choice_for(const at::Tensor& q_BHTD) {
  const at::Context& torch = at::globalContext();
  return attention_choice({.is_bf16 = q_BHTD.scalar_type() == at::kBFloat16,
                           .head_size = q_BHTD.size(3),
                           .tokens = q_BHTD.size(2),
                           .repeats = torch.deterministicAlgorithms(),
                           .has_cudnn = torch.userEnabledCuDNNSDP()});
}

Gradients cudnn_backward(const at::Tensor& dy_BHTD, const DeviceAttention& forward, Scale scale) {
  const at::Tensor no_random = at::empty({}, forward.q_BHTD.options().dtype(at::kLong));
  return at::_scaled_dot_product_cudnn_attention_backward(
      dy_BHTD, forward.q_BHTD, forward.k_BHTD, forward.v_BHTD, forward.y_BHTD, forward.logsumexp_BHT.unsqueeze(3),
      no_random, no_random, {}, {}, {}, forward.q_BHTD.size(2), forward.k_BHTD.size(2), 0.0, true, scale);
}

Gradients flash_backward(const at::Tensor& dy_BHTD, const DeviceAttention& forward, Scale scale) {
  const at::Tensor no_random = at::empty({}, at::TensorOptions(at::kLong));
  auto all = at::_scaled_dot_product_flash_attention_backward(
      dy_BHTD, forward.q_BHTD, forward.k_BHTD, forward.v_BHTD, forward.y_BHTD, forward.logsumexp_BHT, {}, {},
      forward.q_BHTD.size(2), forward.k_BHTD.size(2), 0.0, true, no_random, no_random, scale);
  return {std::get<0>(all), std::get<1>(all), std::get<2>(all)};
}

// The two below take heads as kernels do.
std::tuple<at::Tensor, at::Tensor> attend_by_operator(const at::Tensor& q_BHTD, const at::Tensor& k_BHTD,
                                                      const at::Tensor& v_BHTD, Scale scale) {
  const AttentionOperator by = choice_for(q_BHTD).forward;
  if (by == AttentionOperator::kCudnn) {
    auto all =
        at::_scaled_dot_product_cudnn_attention(q_BHTD, k_BHTD, v_BHTD, std::nullopt, true, 0.0, true, false, scale);
    const at::Tensor& logsumexp = std::get<1>(all);  // [B,H,T,1]
    return {std::get<0>(all), logsumexp.view({q_BHTD.size(0), q_BHTD.size(1), q_BHTD.size(2)})};
  }
  if (by == AttentionOperator::kFlash) {
    auto flash = at::_scaled_dot_product_flash_attention(q_BHTD, k_BHTD, v_BHTD, 0.0, true, false, scale);
    return {std::get<0>(flash), std::get<1>(flash)};
  }
  auto all = at::_scaled_dot_product_efficient_attention(q_BHTD, k_BHTD, v_BHTD, std::nullopt, true, 0.0, true, scale);
  return {std::get<0>(all), std::get<1>(all)};
}

Gradients attend_by_operator_backward(const at::Tensor& dy_BHTD, const DeviceAttention& forward, Scale scale) {
  const AttentionOperator by = choice_for(forward.q_BHTD).backward;
  if (by == AttentionOperator::kCudnn) return cudnn_backward(dy_BHTD, forward, scale);
  if (by == AttentionOperator::kFlash) return flash_backward(dy_BHTD, forward, scale);
  const at::Tensor no_random = at::empty({}, at::TensorOptions(at::kLong));
  auto all = at::_scaled_dot_product_efficient_attention_backward(
      dy_BHTD, forward.q_BHTD, forward.k_BHTD, forward.v_BHTD, {}, forward.y_BHTD, forward.logsumexp_BHT, no_random,
      no_random, 0.0, {true, true, true, false}, true, scale);
  return {std::get<0>(all), std::get<1>(all), std::get<2>(all)};
}

}  // namespace

std::tuple<at::Tensor, at::Tensor> attend_on_device(const at::Tensor& q_BHTD, const at::Tensor& k_BHTD,
                                                    const at::Tensor& v_BHTD) {
  return attend_padded(kernel_size_of(q_BHTD), q_BHTD, k_BHTD, v_BHTD, attend_by_operator);
}

Gradients attend_on_device_backward(const at::Tensor& dy_BHTD, const DeviceAttention& forward) {
  return attend_padded_backward(kernel_size_of(forward.q_BHTD), dy_BHTD, forward, attend_by_operator_backward);
}

}  // namespace shoal
