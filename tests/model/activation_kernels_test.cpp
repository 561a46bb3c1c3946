// GELU against its definition in double, and the same bits for any split.
#include "model/activation_kernels.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace shoal {
namespace {

double gelu_of(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
}

double slope_of(double x) {
  const double h = 1e-5;
  return (gelu_of(x + h) - gelu_of(x - h)) / (2 * h);
}

std::vector<float> inputs() {
  std::vector<float> x;
  for (int i = -120000; i <= 120000; ++i) x.push_back(static_cast<float>(i) * 1e-4F);
  for (const float large : {50.0F, 1e4F, 1e18F}) {
    x.push_back(large);
    x.push_back(-large);
  }
  return x;
}

TEST(Gelu, IsTheTanhFormWithinRounding) {
  const std::vector<float> x = inputs();
  std::vector<float> y(x.size());
  gelu_forward(x, y);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double exact = gelu_of(x[i]);
    ASSERT_NEAR(y[i], exact, 2e-7 * std::max(1.0, std::fabs(exact))) << x[i];
  }
}

TEST(Gelu, TheGradientIsItsSlope) {
  std::vector<float> x = inputs();
  x.resize(x.size() - 6);  // the difference quotient is of no use far out
  const std::vector<float> dy(x.size(), 2.0F);
  std::vector<float> dx(x.size());
  gelu_backward(x, dy, dx);
  for (std::size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(dx[i], 2 * slope_of(x[i]), 2e-6) << x[i];
}

TEST(Gelu, WhatIsNotANumberStaysVisible) {
  const std::vector<float> x = {std::nanf(""), std::numeric_limits<float>::infinity()};
  std::vector<float> y(2);
  gelu_forward(x, y);
  EXPECT_TRUE(std::isnan(y[0]));
  EXPECT_TRUE(std::isinf(y[1]));
  std::vector<float> dx(2);
  gelu_backward(x, std::vector<float>(2, 1.0F), dx);
  EXPECT_TRUE(std::isnan(dx[0]));
}

TEST(Gelu, GivesTheSameBitsForAnySplit) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const std::vector<float> x = inputs();
  std::vector<float> whole(x.size());
  std::vector<float> split(x.size());
  std::vector<float> whole_gradient(x.size());
  std::vector<float> split_gradient(x.size());
  gelu_forward(x, whole);
  gelu_backward(x, x, whole_gradient);
  for (std::size_t begin = 0; begin < x.size();) {
    const std::size_t count = std::min(x.size() - begin, std::uniform_int_distribution<std::size_t>(1, 77)(random));
    const auto part = [&](auto& values) { return std::span(values).subspan(begin, count); };
    gelu_forward(part(x), part(split));
    gelu_backward(part(x), part(x), part(split_gradient));
    begin += count;
  }
  EXPECT_EQ(whole, split);
  EXPECT_EQ(whole_gradient, split_gradient);
}

}  // namespace
}  // namespace shoal
