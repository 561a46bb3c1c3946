// Tests the time between losses: by how often machines were lost, and for how long that is remembered.
#include "runtime/cluster/balance/loss_rate.h"

#include <gtest/gtest.h>

namespace shoal::loss_rate_test {
namespace {

TEST(LossRate, IsNoneWhileNobodyWasLost) {
  LossRate rate;
  rate.begin(500);
  EXPECT_EQ(rate.between_s(1000), std::numeric_limits<double>::infinity());
}

TEST(LossRate, TellsTheMeanTimeBetweenTwo) {
  LossRate rate;
  rate.begin(1000);
  for (int loss = 1; loss <= 400; ++loss) rate.lost(1000 + 24 * loss);
  EXPECT_NEAR(rate.between_s(1000 + 24 * 400), 24, 1);
}

TEST(LossRate, TakesOneEarlyLossForNoStorm) {
  LossRate rate;
  rate.begin(0);
  rate.lost(1);
  EXPECT_GE(rate.between_s(1), LossRate::kObservedLeastS);
}

TEST(LossRate, ForgetsAStormThatIsOver) {
  LossRate rate;
  rate.begin(0);
  for (int loss = 0; loss < 20; ++loss) rate.lost(loss);
  const double in_it_s = rate.between_s(20);
  EXPECT_LT(in_it_s, 5);
  EXPECT_GT(rate.between_s(3 * LossRate::kMemoryS), 100 * in_it_s);
  rate.begin(30);
  EXPECT_EQ(rate.between_s(40), std::numeric_limits<double>::infinity()) << "a new beginning";
}

}  // namespace
}  // namespace shoal::loss_rate_test
