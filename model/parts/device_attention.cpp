// cuDNN's operator is the fastest on Hopper, and its backward does not repeat its bits: it is for runs that ask for
// none.
#include "model/parts/device_attention.h"

#include <ATen/Context.h>
#include <ATen/ops/_scaled_dot_product_cudnn_attention.h>
#include <ATen/ops/_scaled_dot_product_cudnn_attention_backward.h>
#include <ATen/ops/_scaled_dot_product_efficient_attention.h>
#include <ATen/ops/_scaled_dot_product_efficient_attention_backward.h>
#include <ATen/ops/_scaled_dot_product_flash_attention.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_backward.h>
#include <ATen/ops/empty.h>

namespace shoal {
namespace {

using Gradients = std::tuple<at::Tensor, at::Tensor, at::Tensor>;

constexpr std::int64_t kCudnnHead = 128;   // elements of a head at most
constexpr std::int64_t kCudnnTokens = 64;  // at least, and a multiple of 8

bool is_for_flash(const at::Tensor& q_BHTD) { return q_BHTD.scalar_type() == at::kBFloat16 && q_BHTD.size(3) % 8 == 0; }

bool is_for_cudnn(const at::Tensor& q_BHTD) {
  const bool is_taken =
      is_for_flash(q_BHTD) && q_BHTD.size(3) <= kCudnnHead && q_BHTD.size(2) % 8 == 0 && q_BHTD.size(2) >= kCudnnTokens;
  return is_taken && !at::globalContext().deterministicAlgorithms();
}

Gradients cudnn_backward(const at::Tensor& dy_BHTD, const DeviceAttention& forward) {
  const at::Tensor no_random = at::empty({}, forward.q_BHTD.options().dtype(at::kLong));
  return at::_scaled_dot_product_cudnn_attention_backward(
      dy_BHTD, forward.q_BHTD, forward.k_BHTD, forward.v_BHTD, forward.y_BHTD, forward.logsumexp, no_random, no_random,
      {}, {}, {}, forward.q_BHTD.size(2), forward.k_BHTD.size(2), 0.0, true);
}

Gradients flash_backward(const at::Tensor& dy_BHTD, const DeviceAttention& forward) {
  const at::Tensor no_random = at::empty({}, at::TensorOptions(at::kLong));
  auto all = at::_scaled_dot_product_flash_attention_backward(
      dy_BHTD, forward.q_BHTD, forward.k_BHTD, forward.v_BHTD, forward.y_BHTD, forward.logsumexp, {}, {},
      forward.q_BHTD.size(2), forward.k_BHTD.size(2), 0.0, true, no_random, no_random);
  return {std::get<0>(all), std::get<1>(all), std::get<2>(all)};
}

}  // namespace

std::tuple<at::Tensor, at::Tensor> attend_on_device(const at::Tensor& q_BHTD, const at::Tensor& k_BHTD,
                                                    const at::Tensor& v_BHTD) {
  if (is_for_cudnn(q_BHTD)) {
    auto all = at::_scaled_dot_product_cudnn_attention(q_BHTD, k_BHTD, v_BHTD, std::nullopt, true, 0.0, true);
    return {std::get<0>(all), std::get<1>(all)};
  }
  if (is_for_flash(q_BHTD)) {
    auto flash = at::_scaled_dot_product_flash_attention(q_BHTD, k_BHTD, v_BHTD, 0.0, true, false);
    return {std::get<0>(flash), std::get<1>(flash)};
  }
  auto all = at::_scaled_dot_product_efficient_attention(q_BHTD, k_BHTD, v_BHTD, std::nullopt, true, 0.0, true);
  return {std::get<0>(all), std::get<1>(all)};
}

Gradients attend_on_device_backward(const at::Tensor& dy_BHTD, const DeviceAttention& forward) {
  if (is_for_cudnn(forward.q_BHTD)) return cudnn_backward(dy_BHTD, forward);
  if (is_for_flash(forward.q_BHTD)) return flash_backward(dy_BHTD, forward);
  const at::Tensor no_random = at::empty({}, at::TensorOptions(at::kLong));
  auto all = at::_scaled_dot_product_efficient_attention_backward(
      dy_BHTD, forward.q_BHTD, forward.k_BHTD, forward.v_BHTD, {}, forward.y_BHTD, forward.logsumexp, no_random,
      no_random, 0.0, {true, true, true, false}, true);
  return {std::get<0>(all), std::get<1>(all), std::get<2>(all)};
}

}  // namespace shoal
