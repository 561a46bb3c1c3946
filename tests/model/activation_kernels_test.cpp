// GELU against its definition in double, and the same bits for any split.
#include "model/activation_kernels.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/base/arithmetic/bf16.h"

namespace shoal::activation_kernels_test {
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

TEST(Gelu, OverBf16IsTheSameRoundedOnce) {
  std::vector<std::uint16_t> x;
  std::vector<float> wide;
  for (const float value : inputs()) {
    x.push_back(to_bf16(value));
    wide.push_back(float_of_bf16(x.back()));
  }
  std::vector<std::uint16_t> y(x.size());
  std::vector<std::uint16_t> dx(x.size());
  std::vector<float> wide_y(x.size());
  std::vector<float> wide_dx(x.size());
  gelu_forward(x, y);
  gelu_forward(wide, wide_y);
  gelu_backward(x, std::vector<std::uint16_t>(x.size(), to_bf16(2)), dx);
  gelu_backward(wide, std::vector<float>(x.size(), 2), wide_dx);
  for (std::size_t i = 0; i < x.size(); ++i) {
    ASSERT_EQ(y[i], to_bf16(wide_y[i])) << wide[i];
    ASSERT_EQ(dx[i], to_bf16(wide_dx[i])) << wide[i];
  }
  const std::vector<std::uint16_t> nan = {to_bf16_or_nan(std::nanf(""))};
  gelu_forward(nan, std::span(y).first(1));
  EXPECT_TRUE(std::isnan(float_of_bf16(y[0])));
}

TEST(Columns, AreSummedForAnySplit) {
  constexpr std::size_t kRows = 301;
  constexpr std::size_t kColumns = 530;
  std::mt19937 random(4);
  std::normal_distribution<float> normal;
  std::vector<std::uint16_t> values(kRows * kColumns);
  std::vector<double> exact(kColumns);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = to_bf16(normal(random));
    exact[i % kColumns] += float_of_bf16(values[i]);
  }
  std::vector<float> whole(kColumns);
  std::vector<float> split(kColumns);
  sum_columns({values.data(), kRows, kColumns}, 0, kColumns, whole.data());
  for (std::size_t begin = 0; begin < kColumns; begin += 53) {
    sum_columns({values.data(), kRows, kColumns}, begin, begin + 53, split.data());
  }
  EXPECT_EQ(whole, split);
  for (std::size_t i = 0; i < kColumns; ++i) EXPECT_NEAR(whole[i], exact[i], 3e-5);
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
}  // namespace shoal::activation_kernels_test
