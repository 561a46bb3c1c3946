// Compares the hand-written backward of a part, or of a whole stage, with what autograd derives from its forward.
// Weights and inputs are drawn by torch's generator from a fixed seed; equal calls give equal bits.
#pragma once

#include "model/parts/part.h"

#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/randn.h>
#include <torch/csrc/autograd/autograd.h>

namespace shoal {

inline WeightMap random_weights(const StagePlan& plan, double deviation = 0.4) {
  WeightMap weights;
  for (const TensorSpec& tensor : plan.tensors) weights[tensor.name] = at::randn(tensor.shape).mul(deviation);
  return weights;
}

struct Pass {
  at::Tensor y;
  std::vector<at::Tensor> gradients;  // in the order of the plan, then the input's where it has one
};

// Autograd's, of sum(y * dy). `forward` is called with a tape that keeps nothing.
template <class Forward>
Pass by_autograd(const StagePlan& plan, WeightMap& weights, at::Tensor x, const at::Tensor& dy,
                 const Forward& forward) {
  const at::AutoGradMode graph(true);
  std::vector<at::Tensor> variables;
  for (const TensorSpec& tensor : plan.tensors) variables.push_back(weights[tensor.name].requires_grad_(true));
  if (x.is_floating_point()) variables.push_back(x = x.detach().requires_grad_(true));
  const at::Tensor y = forward(x);
  Pass pass{y.detach(), torch::autograd::grad({y}, variables, {dy})};
  for (const TensorSpec& tensor : plan.tensors) weights[tensor.name] = weights[tensor.name].detach();
  return pass;
}

// Returns the name of what differs in a bit; empty: nothing.
inline std::string first_difference(const StagePlan& plan, const Pass& one, const Pass& other) {
  if (!at::equal(one.y, other.y)) return "y";
  if (one.gradients.size() != other.gradients.size()) return "the number of gradients";
  for (std::size_t i = 0; i < one.gradients.size(); ++i) {
    if (at::equal(one.gradients[i], other.gradients[i])) continue;
    return i < plan.tensors.size() ? plan.tensors[i].name : "the input";
  }
  return "";
}

// A stage's plan with the tensors of one part alone.
inline StagePlan plan_of(const PartSpec& part) {
  StagePlan plan;
  plan.tensors = tensors_of(part);
  return plan;
}

}  // namespace shoal
