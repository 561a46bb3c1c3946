// Calls the two operators that torch's cross_entropy_loss consists of.
#include "model/parts/loss.h"

#include <tuple>
#include <utility>
#include <vector>

#include <ATen/ops/_log_softmax.h>
#include <ATen/ops/_log_softmax_backward_data.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/nll_loss_backward.h>
#include <ATen/ops/nll_loss_forward.h>
#include <ATen/ops/ones_like.h>

namespace shoal {
namespace {

constexpr std::int64_t kNotCounted = -1;

}  // namespace

at::Tensor loss_sum(const at::Tensor& logits_BTV, const at::Tensor& targets_BT) {
  const at::Tensor logits_NV = logits_BTV.reshape({-1, logits_BTV.size(2)});
  return at::cross_entropy_loss(logits_NV, targets_BT.reshape({-1}), {}, at::Reduction::Sum, kNotCounted);
}

LossAndGradient loss_and_gradient(at::Tensor logits_BTV, const at::Tensor& targets_BT) {
  const at::Tensor targets_N = targets_BT.reshape({-1});
  const std::vector<std::int64_t> sizes = logits_BTV.sizes().vec();
  const at::Tensor logarithms_NV = at::_log_softmax(std::exchange(logits_BTV, {}).reshape({-1, sizes.at(2)}), 1, false);
  auto [sum, weight] = at::nll_loss_forward(logarithms_NV, targets_N, {}, at::Reduction::Sum, kNotCounted);
  const at::Tensor d_NV =
      at::nll_loss_backward(at::ones_like(sum), logarithms_NV, targets_N, {}, at::Reduction::Sum, kNotCounted, weight);
  const at::Tensor dlogits_NV = at::_log_softmax_backward_data(d_NV, logarithms_NV, 1, at::kFloat);
  return {sum, dlogits_NV.view(sizes)};
}

}  // namespace shoal
