// The arithmetic of a commit, and when its step is skipped (DESIGN.md §4.8, §4.9). Which votes count: ballots_test.cpp.
#include "runtime/journal/commit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "tests/support/commit_policies.h"

namespace shoal::commit_test {
namespace {

const CommitPolicy kPolicy = rising_rate(1);

TEST(CommitArithmetic, DoesNotDependOnTheOrderOfVotesOrManifests) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> value(1e-9, 1e3);
  StepSums sums{StepId{4}, 4, {}, {}, {}};
  for (std::uint32_t index = 0; index < 64; ++index) {
    sums.norms.push_back({"tensor" + std::to_string(index), value(random)});
    sums.loss_entries.push_back({MicrobatchId{index}, 7, value(random), {}});
  }
  const Commit first = conclude_step(sums, kPolicy);
  for (int trial = 0; trial < 50; ++trial) {
    std::shuffle(sums.norms.begin(), sums.norms.end(), random);
    std::shuffle(sums.loss_entries.begin(), sums.loss_entries.end(), random);
    EXPECT_EQ(conclude_step(sums, kPolicy), first);
  }
  double naive = 0;  // control: the order does matter to doubles
  bool differs = false;
  for (int trial = 0; trial < 50 && !differs; ++trial) {
    std::shuffle(sums.loss_entries.begin(), sums.loss_entries.end(), random);
    naive = 0;
    for (const auto& entry : sums.loss_entries) naive += entry.loss_sum;
    differs = naive != first.loss_sum;
  }
  EXPECT_TRUE(differs);
}

TEST(CommitArithmetic, ClippingIsOffAtZeroAndNeverScalesUp) {
  StepSums sums{StepId{0}, 0, {}, {}, {{"a", 100.0}}};
  EXPECT_EQ(conclude_step(sums, rising_rate(0)).clip_scale, 1.0);
  EXPECT_EQ(conclude_step(sums, rising_rate(100)).clip_scale, 1.0);
  EXPECT_LT(conclude_step(sums, rising_rate(1)).clip_scale, 0.11);
}

TEST(CommitArithmetic, StatesTheLearningRateOfItsStep) {
  CommitPolicy policy;
  policy.optim.lr = 1e-3;
  policy.optim.min_lr = 1e-4;
  policy.optim.warmup_steps = 10;
  policy.optim.decay_steps = 110;
  const auto rate_of = [&](std::uint64_t step) {
    return conclude_step({StepId{step}, 0, {}, {}, {}}, policy).learning_rate;
  };
  EXPECT_DOUBLE_EQ(rate_of(0), 1e-4);
  EXPECT_DOUBLE_EQ(rate_of(60), 5.5e-4);
  EXPECT_NE(rate_of(61), rate_of(60)) << "the control";
}

TEST(CommitArithmetic, ClippingShortensLongGradientsOnly) {
  EXPECT_DOUBLE_EQ(clip_scale_of(2, 1), 1);
  EXPECT_DOUBLE_EQ(clip_scale_of(2, 4), 2 / (4 + 1e-6));
  EXPECT_DOUBLE_EQ(clip_scale_of(0, 1e9), 1);
}

TEST(CommitSkip, NamesTheLowestBadMicrobatchAndItsTensor) {  // DESIGN.md §4.9
  StepSums sums{StepId{6}, 5, {}, {}, {{"a", 1.0}}};
  sums.entries = {{MicrobatchId{3}, 1, 0, "x"}, {MicrobatchId{1}, 1, 0, "z"}, {MicrobatchId{1}, 1, 0, "y"}};
  const Commit commit = conclude_step(sums, kPolicy);
  ASSERT_TRUE(commit.skip);
  EXPECT_EQ(*commit.skip, (SkipStep{"y", MicrobatchId{1}}));
  EXPECT_EQ(commit.optimizer_step, 5U);  // the optimiser's count does not change
}

TEST(CommitSkip, ALossOrNormThatIsNotFiniteSkips) {
  const double infinite = std::numeric_limits<double>::infinity();
  StepSums sums{StepId{0}, 0, {}, {{MicrobatchId{0}, 1, 1.0, {}}, {MicrobatchId{1}, 1, std::nan(""), {}}}, {}};
  EXPECT_EQ(conclude_step(sums, kPolicy).skip, (SkipStep{"loss", MicrobatchId{1}}));
  sums.loss_entries.pop_back();
  EXPECT_FALSE(conclude_step(sums, kPolicy).skip);
  sums.norms = {{"a", 1.0}, {"b", infinite}};
  EXPECT_EQ(conclude_step(sums, kPolicy).skip->tensor, "b");
  sums.norms = {{"a", 1.7e308}, {"b", 1.7e308}};
  EXPECT_EQ(conclude_step(sums, kPolicy).skip->tensor, "gradient norm");
}

}  // namespace
}  // namespace shoal::commit_test
