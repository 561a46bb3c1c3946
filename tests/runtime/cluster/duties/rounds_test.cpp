// The duty that makes entries of agreed rounds (supervisor_rounds_test.cpp tests them in a whole run).
#include <gtest/gtest.h>

#include "runtime/cluster/duties/rounds.h"
#include "tests/runtime/cluster/duty_bench.h"
#include "tests/support/rounds_every.h"

namespace shoal::rounds_test {
namespace {

// Rounds that are contributed to after every step and due after the next one.
SupervisorConfig with_rounds() {
  SupervisorConfig config = small_run();
  config.rounds = rounds_every(1, OuterUpdate::kDelayed);
  return config;
}

struct RoundDutyTest : testing::Test, DutyBench {
  RoundDutyTest() : DutyBench(with_rounds()) { train(); }
  void vote(std::uint32_t stage) {
    Prepared vote = vote_of(stage);
    vote.order.round = {0, 1};
    vote.order.step = StepId{1};
    vote.shares = {RoundShare{replica(stage, 0), 7}};
    ASSERT_EQ(truth.ballots.hear(vote, truth.view()), std::nullopt);
  }
  RoundDuty duty{truth, truth.ballots};
};

TEST_F(RoundDutyTest, AsksForNothingBeforeTheRoundIsDue) {
  record(commit_of(0));
  vote(0);
  EXPECT_TRUE(duty.on(RoundsDue{}, now).all().empty());
}

TEST_F(RoundDutyTest, MakesAnEntryOfEachVoteForADueRound) {
  record(commit_of(0));
  vote(0);
  record(commit_of(1));
  const auto asked_for = entries<CommitRound>(duty.on(RoundsDue{}, now));
  ASSERT_EQ(asked_for.size(), 1U);
  EXPECT_EQ(asked_for[0].stage, StageId{0});
  EXPECT_EQ(asked_for[0].tokens_lost, 3U) << "10 were committed, 7 are in the share";
  EXPECT_TRUE(duty.on(RoundsDue{}, now).all().empty()) << "it is handed out once";
}

TEST_F(RoundDutyTest, WaitsWhileNothingIsTrained) {
  record(commit_of(0));
  vote(0);
  record(commit_of(1));
  truth.phase = RunPhase::kRollingBack;
  EXPECT_TRUE(duty.on(RoundsDue{}, now).all().empty());
}

}  // namespace
}  // namespace shoal::rounds_test
