// The keeper's decision: what is final, how long to wait, when to give up.
#include "runtime/base/restart_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <random>

#include "runtime/base/compose.h"

namespace shoal::restart_policy_test {
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

// A worker that has served and finds its port taken: somebody may have it for a moment.
TEST(RestartPolicy, ACodeThatMayPassIsFinalAtFirstAndCostsTheBudgetLater) {
  RestartLimits limits;
  limits.final_codes = {0, 2, 4};
  limits.passing_codes = {2};
  limits.budget = 3;
  EXPECT_EQ(std::get<GiveUp>(RestartPolicy(limits, 1).decide(code(2), Instant{})).exit_code, 2) << "it never came up";
  RestartPolicy policy(limits, 1);
  EXPECT_TRUE(std::holds_alternative<RestartAfter>(policy.decide(kKilled, Instant{})));
  for (int i = 1; i < 3; ++i) {
    EXPECT_TRUE(std::holds_alternative<RestartAfter>(policy.decide(code(2), Instant{} + seconds(i)))) << i;
  }
  const auto decision = policy.decide(code(2), Instant{} + seconds(3));
  ASSERT_TRUE(std::holds_alternative<GiveUp>(decision));
  EXPECT_EQ(std::get<GiveUp>(decision).exit_code, 2) << "what it is for a person";
  EXPECT_THAT(std::get<GiveUp>(decision).reason, HasSubstr("exit status 2, and it was restarted 3 times"));
  EXPECT_EQ(std::get<GiveUp>(policy.decide(code(4), Instant{} + seconds(3))).exit_code, 4) << "others are as before";
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

TEST(RestartPolicy, ALifeInWhichWorkWasDonePaysBackWhatWasSpent) {
  for (const LifeReached reached : {LifeReached::kNothing, LifeReached::kUp, LifeReached::kWork}) {
    RestartLimits limits;
    limits.budget = 3;
    RestartPolicy policy(limits, 1);
    int restarts = 0;
    for (; restarts < 100; ++restarts) {
      const bool is_useful_life = restarts % 3 == 2;  // two lives of no use between
      const auto decision = policy.decide(code(1), Instant{} + milliseconds(500 * restarts),
                                          is_useful_life ? reached : LifeReached::kNothing);
      if (std::holds_alternative<GiveUp>(decision)) break;
    }
    EXPECT_EQ(restarts, reached == LifeReached::kWork ? 100 : 3) << "coming up is no work";
  }
}

TEST(RestartPolicy, ALifeThatLastedPaysBackWhatWasSpent) {
  for (const bool is_long_enough : {true, false}) {
    RestartLimits limits;
    limits.budget = 3;
    RestartPolicy policy(limits, 1);
    Instant now{};
    int restarts = 0;
    for (; restarts < 100; ++restarts) {
      const bool lasts = restarts % 3 == 2;
      now += lasts ? limits.settled_after - milliseconds(is_long_enough ? 0 : 1) : milliseconds(10);
      const auto decision = policy.decide(kKilled, now);
      if (std::holds_alternative<GiveUp>(decision)) break;
      now += std::get<RestartAfter>(decision).delay;
    }
    EXPECT_EQ(restarts, is_long_enough ? 100 : 3);
  }
}

TEST(RestartPolicy, WhatEndsBeforeItHasComeUpIsGivenUpHoweverLongThatTakes) {
  for (const LifeReached reached : {LifeReached::kNothing, LifeReached::kUp}) {
    for (const ExitStatus& status :
         {code(1), ExitStatus{ExitStatus::Kind::kSignal, SIGABRT}, kKilled, code(kRejoinStatus)}) {
      RestartLimits limits;
      limits.budget = 3;
      RestartPolicy policy(limits, 1);
      int restarts = 0;
      for (; restarts < 100; ++restarts) {
        const auto decision = policy.decide(status, Instant{} + limits.window * (restarts + 1), reached);
        if (std::holds_alternative<GiveUp>(decision)) break;
      }
      const bool ends_by_itself = status != kKilled && !status.is_code(kRejoinStatus);
      EXPECT_EQ(restarts, reached == LifeReached::kNothing && ends_by_itself ? 3 : 100) << describe(status);
    }
  }
}

TEST(RestartPolicy, ALifeThatCameUpBeginsANewCountOfVainStarts) {
  RestartLimits limits;
  limits.budget = 3;
  RestartPolicy policy(limits, 1);
  for (int life = 0; life < 100; ++life) {
    const auto reached = life % 4 == 3 ? LifeReached::kUp : LifeReached::kNothing;
    EXPECT_TRUE(
        std::holds_alternative<RestartAfter>(policy.decide(code(1), Instant{} + limits.window * life, reached)));
  }
}

TEST(RestartPolicy, KillingWhatHasComeUpCostsNothing) {
  for (const LifeReached reached : {LifeReached::kNothing, LifeReached::kUp}) {
    RestartLimits limits;
    limits.budget = 3;
    RestartPolicy policy(limits, 1);
    int restarts = 0;
    for (; restarts < 100; ++restarts) {
      const auto decision = policy.decide(kKilled, Instant{} + milliseconds(restarts), reached);
      if (std::holds_alternative<GiveUp>(decision)) break;
      EXPECT_LE(std::get<RestartAfter>(decision).delay, milliseconds(2500));
    }
    EXPECT_EQ(restarts, reached == LifeReached::kUp ? 100 : 3);
  }
  RestartLimits none;
  none.budget = 0;
  EXPECT_TRUE(std::holds_alternative<GiveUp>(RestartPolicy(none, 1).decide(kKilled, Instant{}, LifeReached::kUp)));
}

// Against a list of all ends: a process is given up where the budget is full of ends of no use since the last useful
// life, and nowhere else.
TEST(RestartPolicy, GivesUpExactlyWhereNoLifeOfTheWindowWasOfUse) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(compose("seed ", seed));
  std::mt19937_64 random(seed);
  std::size_t given_up = 0;
  for (int run = 0; run < 200; ++run) {
    RestartLimits limits;
    limits.budget = static_cast<int>(1 + random() % 9);  // some are never spent
    limits.window = seconds(10);
    limits.settled_after = seconds(3);
    RestartPolicy policy(limits, random());
    std::vector<Instant> in_vain;
    Instant now{}, started{};
    int vain_starts = 0;
    for (int end = 0; end < 200; ++end) {
      now += milliseconds(random() % 3200);
      const auto reached = static_cast<LifeReached>(random() % 20 == 0 ? 2 : random() % 2);
      const ExitStatus status = random() % 4 == 0 ? kKilled : code(1);
      if (reached == LifeReached::kWork || now - started >= limits.settled_after) in_vain.clear();
      std::erase_if(in_vain, [&](Instant at) { return now - at >= limits.window; });
      const bool is_free = status == kKilled && reached != LifeReached::kNothing;
      if (reached != LifeReached::kNothing) vain_starts = 0;
      if (reached == LifeReached::kNothing && status != kKilled) ++vain_starts;
      const bool is_full = !is_free && (in_vain.size() == static_cast<std::size_t>(limits.budget) ||
                                        (status != kKilled && vain_starts > limits.budget));
      const auto decision = policy.decide(status, now, reached);
      ASSERT_EQ(std::holds_alternative<GiveUp>(decision), is_full) << "run " << run << ", end " << end;
      if (is_full) ++given_up;
      if (is_full) break;
      if (!is_free) in_vain.push_back(now);
      now += std::get<RestartAfter>(decision).delay;
      started = now;
    }
  }
  EXPECT_GT(given_up, 0U);
  EXPECT_LT(given_up, 200U);
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
  limits.settled_after = seconds(3600);  // no life here pays back: some follow a failure, without a restart
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
}  // namespace shoal::restart_policy_test
