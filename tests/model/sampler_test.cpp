// Tests what is drawn: greedy, top-k, and frequencies that follow the temperature.
#include "model/sampler.h"

#include <array>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace shoal::sampler_test {
namespace {

const std::vector<float> kLogits = {0.0F, 2.0F, 1.0F, 2.0F};

TEST(Sampler, WithoutTemperatureTakesTheFirstOfTheMostLikely) {
  EXPECT_EQ(pick_token({.temperature = 0}, kLogits, 7), 1);
}

TEST(Sampler, NeverLeavesTheTopK) {
  for (std::uint64_t position = 0; position < 1000; ++position) {
    const std::int32_t token = pick_token({.temperature = 5, .top_k = 2, .seed = 3}, kLogits, position);
    EXPECT_TRUE(token == 1 || token == 3) << token;
  }
}

TEST(Sampler, IsAFunctionOfSeedAndPosition) {
  int differing = 0;
  for (std::uint64_t position = 0; position < 100; ++position) {
    EXPECT_EQ(pick_token({.seed = 5}, kLogits, position), pick_token({.seed = 5}, kLogits, position));
    if (pick_token({.seed = 5}, kLogits, position) != pick_token({.seed = 6}, kLogits, position)) ++differing;
  }
  EXPECT_GT(differing, 10);
}

TEST(Sampler, FrequenciesFollowTheSoftmax) {
  constexpr int kDraws = 20000;
  std::array<int, 4> counts{};
  for (std::uint64_t position = 0; position < kDraws; ++position) {
    ++counts[static_cast<std::size_t>(pick_token({.temperature = 0.5, .seed = 1}, kLogits, position))];
  }
  double total = 0;
  for (const float logit : kLogits) total += std::exp(logit / 0.5);
  for (std::size_t token = 0; token < kLogits.size(); ++token) {
    EXPECT_NEAR(counts[token] / static_cast<double>(kDraws), std::exp(kLogits[token] / 0.5) / total, 0.015) << token;
  }
}

}  // namespace
}  // namespace shoal::sampler_test
