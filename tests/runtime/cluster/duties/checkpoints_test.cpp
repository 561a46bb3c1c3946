// The duty that follows checkpoints (checkpoint_tracker_test.cpp tests what becomes of an order).
#include <gtest/gtest.h>

#include "runtime/cluster/duties/checkpoints.h"
#include "tests/runtime/cluster/duty_bench.h"

namespace shoal::checkpoints_test {
namespace {

struct CheckpointDutyTest : testing::Test, DutyBench {
  CheckpointDutyTest() { train(); }
  void order(bool is_last = false) {
    Commit commit = commit_of(truth.view().committed_steps());
    commit.checkpoint_by = {replica(0, 0), replica(1, 0)};
    commit.is_last = is_last;
    record(commit);
    truth.ending.last_step.committed(is_last);
    (void)duty.on(commit, now);
  }
  CheckpointDuty duty{truth, truth.checkpoints};
};

TEST_F(CheckpointDutyTest, FollowsWhatACommitOrders) {
  order();
  EXPECT_EQ(truth.checkpoints.version_under_way(), 1U);
  (void)duty.on(BranchBegins{}, now);
  EXPECT_FALSE(truth.checkpoints.version_under_way()) << "it belongs to another history";
}

TEST_F(CheckpointDutyTest, AsksAllWhoWaitedForASavedStateInTheirOrder) {
  order();
  const Answers answers = duty.on(CheckpointSaved{truth.history.branch(), 1, "abc", 1, 0.1}, now);
  EXPECT_TRUE(truth.checkpoints.has(1));
  EXPECT_LT(place_of<SavedLeaversDue>(answers), place_of<LossDue>(answers));
  EXPECT_LT(place_of<LossDue>(answers), place_of<EndDue>(answers));
  EXPECT_LT(place_of<EndDue>(answers), place_of<CommitDue>(answers));
  EXPECT_TRUE(duty.on(CheckpointSaved{truth.history.branch(), 1, "abc", 1, 0.1}, now).all().empty()) << "no news";
}

TEST_F(CheckpointDutyTest, EndsTheRunOverItsLastCheckpointAlone) {
  order();
  EXPECT_TRUE(told<EndOfRun>(duty.on(CheckpointFailed{truth.history.branch(), 1, "disk full"}, now)).empty());
  order(true);
  const auto ends = told<EndOfRun>(duty.on(CheckpointFailed{truth.history.branch(), 2, "disk full"}, now));
  ASSERT_EQ(ends.size(), 1U);
  EXPECT_EQ(ends[0].exit_status, 3);
}

TEST_F(CheckpointDutyTest, SaysOnceThatOneIsOwed) {
  EXPECT_EQ(announced(duty.on(CheckpointDelayed{1, "no storage"}, now)).size(), 1U);
  EXPECT_TRUE(duty.on(CheckpointDelayed{2, "no storage"}, now).all().empty());
}

TEST_F(CheckpointDutyTest, AsksWhoeverStillHoldsTheLastStateWhenItsSaverIsLost) {
  join("storage1", ProcessRole::kStorage);
  order(true);
  (void)duty.on(MemberLost{replica(0, 0)}, now);
  truth.roster.ended.insert(replica(0, 0));
  for (int second = 0; second < 3; ++second) truth.clock.look(now += std::chrono::seconds(1), false);
  const auto asks = sent<SaveState>(duty.on(TickCame{}, now));
  ASSERT_FALSE(asks.empty());
  EXPECT_EQ(asks[0].replica, replica(0, 1));
}

}  // namespace
}  // namespace shoal::checkpoints_test
