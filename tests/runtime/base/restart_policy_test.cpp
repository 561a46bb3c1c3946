// The keeper's decision: what is final, how long to wait, when to give up.
#include "runtime/base/restart_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <random>

#include "runtime/base/compose.h"

namespace shoal {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

constexpr ExitStatus kKilled{ExitStatus::Kind::kSignal, SIGKILL};

ExitStatus code(int number) { return {ExitStatus::Kind::kCode, number}; }

TEST(RestartPolicy, FinalCodesEndItAndKeepTheirNumber) {
  RestartLimits limits;
  limits.final_codes = {0, 2, 4};
  RestartPolicy policy(limits, 1);
  for (const int number : {0, 2, 4}) {
    const auto decision = policy.decide(code(number), Instant{});
    ASSERT_TRUE(std::holds_alternative<GiveUp>(decision));
    EXPECT_EQ(std::get<GiveUp>(decision).exit_code, number);
  }
  EXPECT_TRUE(std::holds_alternative<RestartAfter>(policy.decide(code(3), Instant{})));
  EXPECT_TRUE(std::holds_alternative<RestartAfter>(policy.decide(kKilled, Instant{})));
}

TEST(RestartPolicy, WhatWasGivenUpIsFinalForAllAndToldAsOne) {
  for (const Finality finality : {Finality::kListedCodes, Finality::kEveryCode, Finality::kAtFirst}) {
    RestartLimits limits;
    limits.finality = finality;
    RestartPolicy policy(limits, 1);
    EXPECT_TRUE(std::holds_alternative<RestartAfter>(policy.decide(kKilled, Instant{})));
    EXPECT_EQ(std::get<GiveUp>(policy.decide(code(kGivenUpStatus), Instant{} + seconds(1))).exit_code, 1);
  }
}

TEST(RestartPolicy, OnlySignalsRestartWhereEveryCodeIsFinal) {
  RestartLimits limits;
  limits.finality = Finality::kEveryCode;
  RestartPolicy policy(limits, 1);
  EXPECT_EQ(std::get<GiveUp>(policy.decide(code(1), Instant{})).exit_code, 1);
  EXPECT_TRUE(std::holds_alternative<RestartAfter>(policy.decide(kKilled, Instant{})));
}

TEST(RestartPolicy, WhatHasStartedOnceIsStartedAgainWhateverItsCode) {
  RestartLimits limits;
  limits.finality = Finality::kAtFirst;
  limits.final_codes = {0, 3};
  RestartPolicy failed(limits, 1);
  EXPECT_EQ(std::get<GiveUp>(failed.decide(code(3), Instant{})).exit_code, 3);
  RestartPolicy killed(limits, 1);
  EXPECT_TRUE(std::holds_alternative<RestartAfter>(killed.decide(kKilled, Instant{})));
  EXPECT_TRUE(std::holds_alternative<RestartAfter>(killed.decide(code(3), Instant{} + seconds(1))));
  EXPECT_EQ(std::get<GiveUp>(killed.decide(code(0), Instant{} + seconds(2))).exit_code, 0);
}

TEST(RestartPolicy, WithoutABudgetItIsTriedForEverWithGrowingDelays) {
  RestartLimits limits;
  limits.budget = kNoBudget;
  RestartPolicy policy(limits, 1);
  Instant now{};
  for (int i = 0; i < 1000; ++i) {
    const auto decision = policy.decide(code(3), now);
    ASSERT_TRUE(std::holds_alternative<RestartAfter>(decision)) << i;
    const Duration delay = std::get<RestartAfter>(decision).delay;
    EXPECT_LE(delay, limits.longest_delay * 5 / 4);
    if (i > 10) {
      EXPECT_GE(delay, limits.longest_delay * 3 / 4);
    }
    now += delay + milliseconds(10);
  }
}

TEST(RestartPolicy, DelaysDoubleWithJitterUpToTheLongest) {
  RestartLimits limits;
  limits.longest_delay = milliseconds(1000);
  RestartPolicy policy(limits, 7);
  for (int i = 0; i < 8; ++i) {
    const auto decision = policy.decide(kKilled, Instant{} + milliseconds(i));
    const double delay = std::chrono::duration<double, std::milli>(std::get<RestartAfter>(decision).delay).count();
    const double plain = std::min(100.0 * (1 << i), 1000.0);
    EXPECT_GE(delay, 0.75 * plain);
    EXPECT_LE(delay, 1.25 * plain);
  }
}

TEST(RestartPolicy, WhatHasServedForAWhileComesBackAtOnce) {
  RestartLimits limits;
  RestartPolicy policy(limits, 7);
  Instant now{};
  const auto delay_at = [&](Duration life) {
    now += life;
    const Duration delay = std::get<RestartAfter>(policy.decide(kKilled, now)).delay;
    now += delay;
    return delay;
  };
  for (int i = 0; i < 4; ++i) (void)delay_at(milliseconds(10));
  EXPECT_GE(delay_at(limits.settled_after - milliseconds(1)), milliseconds(1'200)) << "the fifth short life";
  EXPECT_LE(delay_at(limits.settled_after), milliseconds(125));
  EXPECT_GE(delay_at(milliseconds(10)), milliseconds(150)) << "and from there again";
}

TEST(RestartPolicy, GivesUpPastTheBudgetAndSaysWhy) {
  RestartLimits limits;
  limits.budget = 3;
  RestartPolicy policy(limits, 1);
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(std::holds_alternative<RestartAfter>(policy.decide(kKilled, Instant{} + seconds(i))));
  const auto decision = policy.decide(kKilled, Instant{} + seconds(3));
  ASSERT_TRUE(std::holds_alternative<GiveUp>(decision));
  EXPECT_EQ(std::get<GiveUp>(decision).exit_code, 1);
  EXPECT_THAT(std::get<GiveUp>(decision).reason, HasSubstr("signal 9 (Killed), and it was restarted 3 times"));
}

TEST(RestartPolicy, WithoutABudgetSaysHowItEndedAndNothingElse) {
  RestartLimits limits;
  limits.budget = 0;
  const auto decision = RestartPolicy(limits, 1).decide(kKilled, Instant{});
  ASSERT_TRUE(std::holds_alternative<GiveUp>(decision));
  EXPECT_EQ(std::get<GiveUp>(decision).reason, describe(kKilled));
}

TEST(RestartPolicy, WhoComesBackOnPurposeCostsNothingOfTheBudget) {
  RestartLimits limits;
  limits.budget = 2;
  limits.longest_delay = seconds(2);
  RestartPolicy policy(limits, 1);
  for (int i = 0; i < 100; ++i) {
    const auto decision = policy.decide(code(kRejoinStatus), Instant{} + milliseconds(100 * i));
    ASSERT_TRUE(std::holds_alternative<RestartAfter>(decision)) << i;
    EXPECT_LE(std::get<RestartAfter>(decision).delay, milliseconds(2500));
  }
  EXPECT_TRUE(std::holds_alternative<RestartAfter>(policy.decide(kKilled, Instant{} + seconds(10))));
  EXPECT_TRUE(std::holds_alternative<RestartAfter>(policy.decide(kKilled, Instant{} + seconds(11))));
  EXPECT_TRUE(std::holds_alternative<GiveUp>(policy.decide(kKilled, Instant{} + seconds(12)))) << "crashes still count";
}

TEST(RestartPolicy, RestartsOlderThanTheWindowAreForgotten) {
  RestartLimits limits;
  limits.budget = 1;
  RestartPolicy policy(limits, 1);
  EXPECT_TRUE(std::holds_alternative<RestartAfter>(policy.decide(kKilled, Instant{})));
  EXPECT_TRUE(std::holds_alternative<RestartAfter>(policy.decide(kKilled, Instant{} + seconds(60))));
  EXPECT_TRUE(std::holds_alternative<GiveUp>(policy.decide(kKilled, Instant{} + seconds(61))));
}

TEST(RestartPolicy, NeverRestartsMoreThanItsBudgetWithinAnyWindow) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(compose("seed ", seed));
  std::mt19937_64 random(seed);
  RestartLimits limits;
  limits.budget = 4;
  limits.window = seconds(10);
  RestartPolicy policy(limits, seed);
  std::vector<Instant> restarts;
  Instant now{};
  for (int i = 0; i < 2000; ++i) {
    now += milliseconds(random() % 6000);
    if (std::holds_alternative<RestartAfter>(policy.decide(kKilled, now))) restarts.push_back(now);
  }
  ASSERT_GT(restarts.size(), 100u);
  for (std::size_t i = 4; i < restarts.size(); ++i) EXPECT_GE(restarts[i] - restarts[i - 4], limits.window);
}

}  // namespace
}  // namespace shoal
