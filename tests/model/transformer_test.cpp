// The transformer's own operators against torch's, and what it refuses.
#include "model/transformer.h"

#include <cmath>

#include <gtest/gtest.h>

#include <ATen/ops/empty.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/linspace.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/autograd.h>

#include "model/initial_weights.h"
#include "model/parts/gelu.h"
#include "model/parts/loss.h"

namespace shoal::transformer_test {
namespace {

ModelConfig small_model() {
  ModelConfig model{.layers = 2, .heads = 2, .width = 16, .context = 8, .vocabulary = 11};
  model.init_std = 0.3;
  return model;
}

WeightMap draw(const ModelConfig& model, const StagePlan& plan) {
  WeightMap weights;
  for (const TensorSpec& spec : plan.tensors) {
    at::Tensor values = at::empty(spec.shape, at::kFloat);
    initial_weights(model, 1, spec, {values.mutable_data_ptr<float>(), static_cast<std::size_t>(values.numel())});
    weights[spec.name] = values;
  }
  return weights;
}

at::Tensor run(const at::Tensor& tokens) {
  const ModelConfig model = small_model();
  const StagePlan plan = whole_model(model);
  return Transformer(model, plan, draw(model, plan)).forward(tokens);
}

TEST(Transformer, NoPositionSeesWhatComesAfterIt) {
  const at::Tensor tokens = at::ones({1, 8}, at::kLong);
  at::Tensor changed = tokens.clone();
  changed.select(1, 5).fill_(7);
  const at::Tensor difference = (run(tokens).sub(run(changed))).abs().amax(2).select(0, 0);
  EXPECT_EQ(difference.narrow(0, 0, 5).max().item<float>(), 0);
  EXPECT_GT(difference.narrow(0, 5, 3).min().item<float>(), 0);
}

TEST(Transformer, RefusesMoreTokensThanItsContextAndWrongWeights) {
  EXPECT_ANY_THROW(run(at::ones({1, 9}, at::kLong)));
  const ModelConfig model = small_model();
  const StagePlan plan = whole_model(model);
  WeightMap weights = draw(model, plan);
  weights["ln_f.bias"] = at::zeros({17});
  EXPECT_ANY_THROW(Transformer(model, plan, weights));
  weights.erase("ln_f.bias");
  EXPECT_ANY_THROW(Transformer(model, plan, weights));
}

TEST(Transformer, GeluAndItsGradientAreTorchs) {
  at::Tensor x = at::linspace(-9, 9, 1000);
  x.set_requires_grad(true);
  const at::Tensor seed = at::linspace(0, 1, 1000);
  const at::Tensor ours = tanh_gelu(x);
  const at::Tensor theirs = at::gelu(x, "tanh");
  EXPECT_LT((ours.sub(theirs)).abs().max().item<float>(), 2e-6);
  const at::Tensor our_gradient = torch::autograd::grad({ours}, {x}, {seed})[0];
  const at::Tensor their_gradient = torch::autograd::grad({theirs}, {x}, {seed})[0];
  EXPECT_LT((our_gradient.sub(their_gradient)).abs().max().item<float>(), 2e-6);
}

TEST(Transformer, TheLossIsASumOverCountedTargets) {
  const at::Tensor logits = at::zeros({1, 3, 4});
  at::Tensor targets = at::zeros({1, 3}, at::kLong);
  EXPECT_NEAR(loss_sum(logits, targets).item<float>(), 3 * std::log(4.0F), 1e-5);
  targets.select(1, 1).fill_(-1);
  EXPECT_NEAR(loss_sum(logits, targets).item<float>(), 2 * std::log(4.0F), 1e-5);
}

}  // namespace
}  // namespace shoal::transformer_test
