// Tests what a contribution weighs.
#include "runtime/sync/rounds/round_weights.h"

#include <gtest/gtest.h>

namespace shoal::round_weights_test {
namespace {

TEST(RoundWeights, AContributionTakesTheTokensSinceTheLastOneOfItsFragment) {
  RoundWeights weights;
  weights.trained(10, 40, 2);
  EXPECT_EQ(weights.contribute(0, true), 10U);
  weights.trained(5, 40, 2);
  EXPECT_EQ(weights.contribute(0, true), 5U);
  EXPECT_EQ(weights.newest(0).others, 35U);
  EXPECT_EQ(weights.contribute(1, true), 15U);
  EXPECT_EQ(weights.newest(1).others, 65U);
  EXPECT_EQ(weights.contribute(0, true), 0U) << "nothing was trained since";
}

TEST(RoundWeights, WhatCannotTravelWeighsNothingAndItsTokensAreGone) {
  RoundWeights weights;
  weights.trained(10, 40, 1);
  EXPECT_EQ(weights.contribute(0, false), 0U);
  EXPECT_EQ(weights.newest(0).own, 0U);
  EXPECT_EQ(weights.newest(0).others, 30U);
  EXPECT_EQ(weights.contribute(0, true), 0U);
}

TEST(RoundWeights, KnowNoOthersWhereTheStageTrainedOnFewerTokens) {
  RoundWeights weights;
  weights.trained(10, 0, 1);  // a skipped step
  (void)weights.contribute(0, true);
  EXPECT_EQ(weights.newest(0).own, 10U);
  EXPECT_EQ(weights.newest(0).others, 0U);
}

TEST(RoundWeights, AreNoneOfAFragmentThatWasNotContributedTo) {
  RoundWeights weights;
  weights.trained(10, 40, 1);
  EXPECT_EQ(weights.newest(0).own, 0U);
  weights.clear();
  EXPECT_EQ(weights.contribute(0, true), 0U);
}

}  // namespace
}  // namespace shoal::round_weights_test
