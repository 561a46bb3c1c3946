// The rows of attention against their formulas in double, bf16 rounding included, and sums that do not depend on
// chance.
#include "model/attention_kernels.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/base/arithmetic/bf16.h"

namespace shoal::attention_kernels_test {
namespace {

constexpr double kHalfUlp = 1.0 / 256;  // of bf16, relative
constexpr float kScale = 0.3F;

std::vector<float> random_values(std::size_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 3);
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

std::vector<std::uint16_t> in_bf16(const std::vector<float>& values) {
  std::vector<std::uint16_t> bits;
  for (const float value : values) bits.push_back(to_bf16(value));
  return bits;
}

double logsumexp_of(const std::vector<float>& scores) {
  double sum = 0;
  for (const float score : scores) sum += std::exp(static_cast<double>(kScale) * score);
  return std::log(sum);
}

TEST(AttentionKernels, WeighScoresAsASoftmaxDoes) {
  for (const std::size_t count : {1U, 15U, 16U, 33U, 256U}) {
    const auto scores = random_values(count, 3);
    std::vector<std::uint16_t> weights(count);
    const SoftmaxRow row = softmax_row(scores, kScale, weights);
    EXPECT_FLOAT_EQ(row.peak, kScale * *std::max_element(scores.begin(), scores.end()));
    EXPECT_NEAR(row.peak + std::log(row.sum), logsumexp_of(scores), 1e-5) << count;
    for (std::size_t i = 0; i < count; ++i) {
      const double exact = std::exp(static_cast<double>(kScale) * scores[i] - row.peak);
      EXPECT_NEAR(float_of_bf16(weights[i]), exact, kHalfUlp * exact) << count << " " << i;
    }
  }
}

TEST(AttentionKernels, GradientsOfScoresFollowTheFormula) {
  constexpr std::size_t kCount = 37;
  const auto scores = random_values(kCount, 5);
  const auto dweights = random_values(kCount, 6);
  std::vector<std::uint16_t> weights(kCount);
  std::vector<std::uint16_t> dscores(kCount);
  const KnownRow row{kScale, static_cast<float>(logsumexp_of(scores)), 0.7F};
  softmax_row_backward(scores, dweights, row, {weights, dscores});
  double most = 0;
  for (std::size_t i = 0; i < kCount; ++i) {
    const double weight = std::exp(static_cast<double>(kScale) * scores[i] - logsumexp_of(scores));
    const double exact = kScale * weight * (dweights[i] - row.delta);
    EXPECT_NEAR(float_of_bf16(weights[i]), weight, kHalfUlp * weight + 1e-9);
    EXPECT_NEAR(float_of_bf16(dscores[i]), exact, kHalfUlp * std::abs(exact) + 1e-7);
    most = std::max(most, std::abs(float_of_bf16(dscores[i]) - kScale * weight * dweights[i]));
  }
  EXPECT_GT(most, 1e-3) << "control: without delta";
}

TEST(AttentionKernels, DotsAndScalingAreThoseOfTheRoundedValues) {
  const auto a = random_values(67, 8);
  const auto b = random_values(67, 9);
  double exact = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    exact += static_cast<double>(float_of_bf16(to_bf16(a[i]))) * float_of_bf16(to_bf16(b[i]));
  }
  EXPECT_NEAR(dot(in_bf16(a), in_bf16(b)), exact, 1e-4);
  std::vector<std::uint16_t> scaled(a.size());
  scale_to_bf16(a, 0.25F, scaled);
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_EQ(scaled[i], to_bf16(0.25F * a[i]));
}

TEST(AttentionKernels, KeepWhatIsNoNumber) {
  std::vector<float> scores(20, 1.0F);
  scores[3] = std::numeric_limits<float>::quiet_NaN();
  std::vector<std::uint16_t> weights(20);
  EXPECT_TRUE(std::isnan(softmax_row(scores, kScale, weights).sum));
  EXPECT_TRUE(std::isnan(float_of_bf16(weights[3])));
}

TEST(Bf16, RoundsToTheNearestAndKeepsInfinityAndNan) {
  EXPECT_EQ(to_bf16_or_nan(1.0F), 0x3F80);
  EXPECT_EQ(to_bf16_or_nan(1.00390625F), 0x3F80) << "a tie goes to even";
  EXPECT_EQ(to_bf16_or_nan(1.01171875F), 0x3F82) << "a tie goes to even";
  EXPECT_EQ(to_bf16_or_nan(std::numeric_limits<float>::infinity()), 0x7F80);
  EXPECT_TRUE(std::isnan(float_of_bf16(to_bf16_or_nan(std::numeric_limits<float>::quiet_NaN()))));
  EXPECT_TRUE(std::isnan(float_of_bf16(to_bf16_or_nan(std::bit_cast<float>(0x7FFFFFFFU)))));
}

}  // namespace
}  // namespace shoal::attention_kernels_test
