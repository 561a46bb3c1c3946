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

namespace shoal {
namespace {

using Gradients = std::tuple<at::Tensor, at::Tensor, at::Tensor>;

AttentionChoice choice_for(const at::Tensor& q_BHTD) {
  const at::Context& torch = at::globalContext();
  return attention_choice({.is_bf16 = q_BHTD.scalar_type() == at::kBFloat16,
                           .head_size = q_BHTD.size(3),
                           .tokens = q_BHTD.size(2),
                           .repeats = torch.deterministicAlgorithms(),
                           .has_cudnn = torch.userEnabledCuDNNSDP()});
}

Gradients cudnn_backward(const at::Tensor& dy_BHTD, const DeviceAttention& forward) {
  const at::Tensor no_random = at::empty({}, forward.q_BHTD.options().dtype(at::kLong));
  return at::_scaled_dot_product_cudnn_attention_backward(
      dy_BHTD, forward.q_BHTD, forward.k_BHTD, forward.v_BHTD, forward.y_BHTD, forward.logsumexp_BHT.unsqueeze(3),
      no_random, no_random, {}, {}, {}, forward.q_BHTD.size(2), forward.k_BHTD.size(2), 0.0, true);
}

Gradients flash_backward(const at::Tensor& dy_BHTD, const DeviceAttention& forward) {
  const at::Tensor no_random = at::empty({}, at::TensorOptions(at::kLong));
  auto all = at::_scaled_dot_product_flash_attention_backward(
      dy_BHTD, forward.q_BHTD, forward.k_BHTD, forward.v_BHTD, forward.y_BHTD, forward.logsumexp_BHT, {}, {},
      forward.q_BHTD.size(2), forward.k_BHTD.size(2), 0.0, true, no_random, no_random);
  return {std::get<0>(all), std::get<1>(all), std::get<2>(all)};
}

}  // namespace

std::tuple<at::Tensor, at::Tensor> attend_on_device(const at::Tensor& q_BHTD, const at::Tensor& k_BHTD,
                                                    const at::Tensor& v_BHTD) {
  const AttentionOperator by = choice_for(q_BHTD).forward;
  if (by == AttentionOperator::kCudnn) {
    auto all = at::_scaled_dot_product_cudnn_attention(q_BHTD, k_BHTD, v_BHTD, std::nullopt, true, 0.0, true);
    const at::Tensor& logsumexp = std::get<1>(all);  // [B,H,T,1]
    return {std::get<0>(all), logsumexp.view({q_BHTD.size(0), q_BHTD.size(1), q_BHTD.size(2)})};
  }
  if (by == AttentionOperator::kFlash) {
    auto flash = at::_scaled_dot_product_flash_attention(q_BHTD, k_BHTD, v_BHTD, 0.0, true, false);
    return {std::get<0>(flash), std::get<1>(flash)};
  }
  auto all = at::_scaled_dot_product_efficient_attention(q_BHTD, k_BHTD, v_BHTD, std::nullopt, true, 0.0, true);
  return {std::get<0>(all), std::get<1>(all)};
}

Gradients attend_on_device_backward(const at::Tensor& dy_BHTD, const DeviceAttention& forward) {
  const AttentionOperator by = choice_for(forward.q_BHTD).backward;
  if (by == AttentionOperator::kCudnn) return cudnn_backward(dy_BHTD, forward);
  if (by == AttentionOperator::kFlash) return flash_backward(dy_BHTD, forward);
  const at::Tensor no_random = at::empty({}, at::TensorOptions(at::kLong));
  auto all = at::_scaled_dot_product_efficient_attention_backward(
      dy_BHTD, forward.q_BHTD, forward.k_BHTD, forward.v_BHTD, {}, forward.y_BHTD, forward.logsumexp_BHT, no_random,
      no_random, 0.0, {true, true, true, false}, true);
  return {std::get<0>(all), std::get<1>(all), std::get<2>(all)};
}

}  // namespace shoal
