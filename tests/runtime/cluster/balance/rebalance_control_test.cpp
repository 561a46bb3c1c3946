// Tests which part of the rule a control takes away, and that other words are refused.
#include "runtime/cluster/balance/rebalance_control.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace shoal::rebalance_control_test {
namespace {

using testing::HasSubstr;

TEST(RebalanceControl, TakesOnePartOfTheRuleAway) {
  const RebalanceRule usual = rule_of_a_run(RebalanceControl::kNone);
  EXPECT_EQ(usual.least_gain, kLeastGainOfARun);
  EXPECT_TRUE(std::isfinite(usual.horizon_s));
  const auto without = [](const char* word) { return rule_of_a_run(parse_rebalance_control(word).value()); };
  EXPECT_EQ(without("hysteresis").least_gain, 0);
  EXPECT_EQ(without("hysteresis").horizon_s, usual.horizon_s);
  EXPECT_EQ(without("cost").least_gain, kLeastGainOfARun);
  EXPECT_TRUE(std::isinf(without("cost").horizon_s));
}

TEST(RebalanceControl, RefusesWordsThatItDoesNotKnow) {
  for (const char* const word : {"costs", "Cost", "hysteresis,cost", " "}) {
    const auto control = parse_rebalance_control(word);
    ASSERT_FALSE(control) << word;
    EXPECT_EQ(control.failure().error, Error::kUsage);
    EXPECT_THAT(control.failure().message, HasSubstr("expected hysteresis or cost"));
  }
}

}  // namespace
}  // namespace shoal::rebalance_control_test
