// Projections against autograd's own products, at once and left for later.
#include "model/projection.h"

#include <gtest/gtest.h>

#include <ATen/ops/equal.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/randn.h>
#include <torch/csrc/autograd/autograd.h>

namespace shoal {
namespace {

struct Case {
  at::Tensor x = at::randn({3, 5, 16}).set_requires_grad(true);
  at::Tensor weight = at::randn({16, 24}).set_requires_grad(true);
  at::Tensor bias = at::randn({24}).set_requires_grad(true);

  [[nodiscard]] at::Tensor projected() const { return project(x, weight, bias); }
  [[nodiscard]] at::Tensor expected() const { return at::linear(x, weight.t(), bias); }
  // Gradients of sum(y * y) / 2, by input, weight and bias.
  [[nodiscard]] torch::autograd::variable_list gradients(const at::Tensor& y) const {
    return torch::autograd::grad({y}, {x, weight, bias}, {y.detach()}, std::nullopt, false, true);
  }
};

TEST(Projection, GivesTheBitsOfAutogradsOwn) {
  const Case one;
  const at::Tensor y = one.projected();
  EXPECT_TRUE(at::equal(y, one.expected()));
  const auto given = one.gradients(y);
  const auto expected = one.gradients(one.expected());
  ASSERT_EQ(given.size(), expected.size());
  for (std::size_t i = 0; i < given.size(); ++i) EXPECT_TRUE(at::equal(given[i], expected[i])) << i;
  EXPECT_FALSE(at::equal(given[1], one.gradients(one.expected().mul(2))[1])) << "control";
}

TEST(Projection, LeavesTheWeightsHalfForLaterWithTheSameBits) {
  const Case one;
  const auto at_once = one.gradients(one.projected());
  LaterGradients later;
  torch::autograd::variable_list now;
  {
    const LeavingForLater leaving(later);
    now = one.gradients(one.projected());
  }
  EXPECT_TRUE(at::equal(now[0], at_once[0]));
  for (const std::size_t i : {1U, 2U}) {
    EXPECT_FALSE(now[i].defined());
    EXPECT_TRUE(at::equal(later.of(i == 1 ? one.weight : one.bias), at_once[i])) << i;
  }
  EXPECT_FALSE(later.of(one.x).defined()) << "nothing was left for it";
  EXPECT_TRUE(at::equal(one.gradients(one.projected())[1], at_once[1])) << "nothing is left outside its scope";
}

TEST(Projection, AParameterOfTwoProjectionsIsABug) {
  const Case one;
  LaterGradients later;
  const LeavingForLater leaving(later);
  static_cast<void>(one.gradients(one.projected().add(one.projected())));
  EXPECT_ANY_THROW(static_cast<void>(later.of(one.weight)));
}

}  // namespace
}  // namespace shoal
