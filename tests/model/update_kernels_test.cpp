// The arithmetic of a step: independent of splits, of alignment and of the order of microbatches; equal to a plain
// reference in double.
#include "model/update_kernels.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "tests/model/random_values.h"

namespace shoal::update_kernels_test {
namespace {

struct Adamw {
  std::vector<float> weights, exp_avg, exp_avg_sq, gradient;

  static Adamw random(std::mt19937& random, std::size_t count) {
    Adamw state{normal(random, count, 0.1F), normal(random, count, 0.01F), normal(random, count, 0.01F),
                normal(random, count, 0.02F)};
    for (float& value : state.exp_avg_sq) value = value * value;
    return state;
  }
  void apply(const AdamwCoefficients& coefficients, std::size_t begin, std::size_t count) {
    const auto part = [&](std::vector<float>& values) { return std::span(values).subspan(begin, count); };
    apply_adamw(coefficients, {part(weights), part(exp_avg), part(exp_avg_sq), part(gradient)});
  }
};

const AdamwRule kRule{.learning_rate = 1e-3,
                      .clip_scale = 0.37,
                      .beta1 = 0.9,
                      .beta2 = 0.95,
                      .eps = 1e-8,
                      .weight_decay = 0.1,
                      .optimizer_step = 7};

TEST(UpdateKernels, AdamwGivesTheSameBitsForAnySplit) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int trial = 0; trial < 100; ++trial) {
    const std::size_t count = std::uniform_int_distribution<std::size_t>(1, 700)(random);
    Adamw whole = Adamw::random(random, count);
    Adamw split = whole;
    const AdamwCoefficients coefficients = adamw_coefficients(kRule);
    whole.apply(coefficients, 0, count);
    for (std::size_t begin = 0; begin < count;) {
      const std::size_t length = std::min(count - begin, std::uniform_int_distribution<std::size_t>(1, 100)(random));
      split.apply(coefficients, begin, length);
      begin += length;
    }
    ASSERT_EQ(whole.weights, split.weights);
    ASSERT_EQ(whole.exp_avg, split.exp_avg);
    ASSERT_EQ(whole.exp_avg_sq, split.exp_avg_sq);
  }
}

// PyTorch's formula, in double.
double reference_weight(const AdamwRule& rule, double weight, double m, double v, double gradient) {
  const double g = gradient * rule.clip_scale;
  m += (1 - rule.beta1) * (g - m);
  v = rule.beta2 * v + (1 - rule.beta2) * g * g;
  const auto t = static_cast<double>(rule.optimizer_step);
  const double correction1 = 1 - std::pow(rule.beta1, t);
  const double correction2 = 1 - std::pow(rule.beta2, t);
  return weight * (1 - rule.learning_rate * rule.weight_decay) -
         rule.learning_rate * (m / correction1) / (std::sqrt(v) / std::sqrt(correction2) + rule.eps);
}

TEST(UpdateKernels, AdamwIsPyTorchsFormula) {
  std::mt19937 random(11);
  constexpr std::size_t kCount = 1000;
  const Adamw before = Adamw::random(random, kCount);
  Adamw after = before;
  after.apply(adamw_coefficients(kRule), 0, kCount);
  AdamwRule wrong = kRule;
  wrong.beta2 = 0.999;  // the negative control: other betas are told apart
  double error = 0;
  double wrong_error = 0;
  for (std::size_t i = 0; i < kCount; ++i) {
    const auto reference = [&](const AdamwRule& rule) {
      return reference_weight(rule, before.weights[i], before.exp_avg[i], before.exp_avg_sq[i], before.gradient[i]);
    };
    error = std::max(error, std::fabs(after.weights[i] - reference(kRule)));
    wrong_error = std::max(wrong_error, std::fabs(after.weights[i] - reference(wrong)));
  }
  EXPECT_LT(error, 1e-7);
  EXPECT_GT(wrong_error, 1e-5);
}

TEST(UpdateKernels, SgdSubtractsTheClippedGradientAndDecays) {
  std::vector<float> weights = {1.0F, -2.0F};
  const std::vector<float> gradient = {0.5F, 0.25F};
  apply_sgd({.clip_scale = 0.5F, .decay = 0.75F, .learning_rate = 2.0F}, weights, gradient);
  EXPECT_EQ(weights, (std::vector<float>{0.75F - 0.5F, -1.5F - 0.25F}));
}

TEST(FixedPoint, LeavesRoomForAStepOfAnySize) {
  EXPECT_EQ(fraction_bits(1), 56);
  EXPECT_EQ(fraction_bits(2), 55);
  EXPECT_EQ(fraction_bits(3), 54);
  EXPECT_EQ(fraction_bits(8192), 43);
  EXPECT_EQ(fraction_bits(8193), 42);
}

TEST(FixedPoint, TheSumDoesNotDependOnTheOrder) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  constexpr std::size_t kCount = 301;
  std::vector<std::vector<float>> gradients;
  for (int i = 0; i < 9; ++i) gradients.push_back(normal(random, kCount, 3.0F));
  const int bits = fraction_bits(9 * 1000);
  const auto sums = [&] {
    std::vector<std::int64_t> exact(kCount);
    std::vector<float> fast(kCount);
    for (const auto& gradient : gradients) {
      accumulate_exact(gradient, bits, exact);
      accumulate_fast(gradient, fast);
    }
    return std::pair(exact, fast);
  };
  const auto [exact, fast] = sums();
  std::reverse(gradients.begin(), gradients.end());
  const auto [exact_reversed, fast_reversed] = sums();
  EXPECT_EQ(exact, exact_reversed);
  EXPECT_NE(fast, fast_reversed);  // the negative control: float32 sums do depend on it
}

TEST(FixedPoint, RoundsToTheNearestAndReturnsTheMean) {
  std::vector<std::int64_t> sums(4);
  accumulate_exact(std::vector<float>{1.0F, -1.0F, 0.3F, 0x1p-50F}, 40, sums);
  EXPECT_EQ(sums[0], std::int64_t{1} << 40U);
  EXPECT_EQ(sums[1], -(std::int64_t{1} << 40U));
  EXPECT_EQ(sums[2], std::llround(static_cast<double>(0.3F) * 0x1p40));
  EXPECT_EQ(sums[3], 0);
  std::vector<float> means(4);
  mean_of_exact(sums, 40, 4, means);
  EXPECT_EQ(means[0], 0.25F);
  EXPECT_EQ(means[1], -0.25F);
  EXPECT_FLOAT_EQ(means[2], 0.075F);
}

TEST(FixedPoint, TheLargestAllowedSumsDoNotOverflow) {
  constexpr std::uint64_t kTokens = 8192;
  std::vector<std::int64_t> sums(1);
  const int bits = fraction_bits(kTokens);
  for (int i = 0; i < 8; ++i) accumulate_exact(std::vector<float>{64.0F * kTokens / 8}, bits, sums);
  std::vector<float> means(1);
  mean_of_exact(sums, bits, kTokens, means);
  EXPECT_EQ(means[0], 64.0F);
}

TEST(AllWithin, FindsWhatIsTooLargeOrNotANumber) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const std::size_t position : {0U, 16U, 99U}) {
    std::vector<float> values(100, -1.0F);
    EXPECT_TRUE(all_within(values, 1.0F));
    for (const float bad : {1.5F, -1.5F, kInfinity, -kInfinity, std::nanf("")}) {
      values[position] = bad;
      EXPECT_FALSE(all_within(values, 1.0F)) << bad << " at " << position;
    }
    values[position] = kInfinity;
    EXPECT_FALSE(all_within(values, std::numeric_limits<float>::max()));
  }
}

TEST(SquaredNorm, IsTheSumOfSquaresInDouble) {
  std::mt19937 random(5);
  for (const std::size_t count : {0U, 1U, 15U, 4096U, 4097U, 10000U}) {
    const std::vector<float> values = normal(random, count, 1.0F);
    double expected = 0;
    for (const float value : values) expected += static_cast<double>(value) * value;
    EXPECT_NEAR(squared_norm(values), expected, 1e-9 * expected) << count;
  }
}

// Groups of 256 blocks of 4096 elements, then what is left: the same bits, and others without the groups.
TEST(SquaredNorm, AddsBlocksInGroups) {
  constexpr std::size_t kBlock = 4096, kGroup = 256 * kBlock, kCount = 2 * kGroup + 5 * kBlock + 3;
  std::mt19937 random(6);
  const std::vector<float> values = normal(random, kCount, 1.0F);
  const auto part = [&](std::size_t begin, std::size_t count) {
    return squared_norm(std::span(values).subspan(begin, std::min(count, kCount - begin)));
  };
  double in_groups = 0, without = 0;
  for (std::size_t begin = 0; begin < kCount; begin += kGroup) in_groups += part(begin, kGroup);
  for (std::size_t begin = 0; begin < kCount; begin += kBlock) without += part(begin, kBlock);
  EXPECT_EQ(squared_norm(values), in_groups);
  EXPECT_NE(squared_norm(values), without) << "control";
}

}  // namespace
}  // namespace shoal::update_kernels_test
