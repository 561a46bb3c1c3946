// Projections against autograd's own products, at once and left for later.
#include "model/projection.h"

#include <gtest/gtest.h>

#include <ATen/ops/equal.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/randn.h>
#include <torch/csrc/autograd/autograd.h>

namespace shoal {
namespace {

// Gradients of sum(y * y) / 2, and of all three leaves.
struct Case {
  at::Tensor x = at::randn({3, 5, 16}).set_requires_grad(true);
  at::Tensor weight;
  at::Tensor bias;
  WeightLayout layout;

  Case(WeightLayout layout_of_weight, bool has_bias) : layout(layout_of_weight) {
    const bool has_inputs_first = layout == WeightLayout::kInputsByOutputs;
    weight = (has_inputs_first ? at::randn({16, 24}) : at::randn({24, 16})).set_requires_grad(true);
    if (has_bias) bias = at::randn({24}).set_requires_grad(true);
  }

  [[nodiscard]] at::Tensor projected() const { return project(x, weight, bias, layout); }
  [[nodiscard]] at::Tensor expected() const {
    const bool has_inputs_first = layout == WeightLayout::kInputsByOutputs;
    return at::linear(x, has_inputs_first ? weight.t() : weight, bias);
  }
  [[nodiscard]] torch::autograd::variable_list gradients(const at::Tensor& y) const {
    torch::autograd::variable_list leaves{x, weight};
    if (bias.defined()) leaves.push_back(bias);
    return torch::autograd::grad({y}, leaves, {y.detach()}, std::nullopt, false, true);
  }
};

const std::vector<Case> kCases = {{WeightLayout::kInputsByOutputs, true},
                                  {WeightLayout::kInputsByOutputs, false},
                                  {WeightLayout::kOutputsByInputs, true},
                                  {WeightLayout::kOutputsByInputs, false}};

TEST(Projection, GivesTheBitsOfAutogradsOwn) {
  for (const Case& one : kCases) {
    const at::Tensor y = one.projected();
    EXPECT_TRUE(at::equal(y, one.expected()));
    const auto given = one.gradients(y);
    const auto expected = one.gradients(one.expected());
    ASSERT_EQ(given.size(), expected.size());
    for (std::size_t i = 0; i < given.size(); ++i) EXPECT_TRUE(at::equal(given[i], expected[i])) << i;
    EXPECT_FALSE(at::equal(given[1], one.gradients(one.expected().mul(2))[1])) << "control";
  }
}

TEST(Projection, LeavesTheWeightsHalfForLaterWithTheSameBits) {
  for (const Case& one : kCases) {
    const auto at_once = one.gradients(one.projected());
    LaterGradients later;
    torch::autograd::variable_list now;
    {
      const LeavingForLater leaving(later);
      now = one.gradients(one.projected());
    }
    EXPECT_TRUE(at::equal(now[0], at_once[0]));
    for (std::size_t i = 1; i < now.size(); ++i) {
      EXPECT_FALSE(now[i].defined());
      EXPECT_TRUE(at::equal(later.of(i == 1 ? one.weight : one.bias), at_once[i])) << i;
    }
    EXPECT_FALSE(later.of(one.x).defined()) << "nothing was left for it";
    EXPECT_TRUE(at::equal(one.gradients(one.projected())[1], at_once[1])) << "nothing is left outside its scope";
  }
}

TEST(Projection, AParameterOfTwoProjectionsIsABug) {
  const Case one(WeightLayout::kInputsByOutputs, true);
  LaterGradients later;
  const LeavingForLater leaving(later);
  static_cast<void>(one.gradients(one.projected().add(one.projected())));
  EXPECT_ANY_THROW(static_cast<void>(later.of(one.weight)));
}

}  // namespace
}  // namespace shoal
