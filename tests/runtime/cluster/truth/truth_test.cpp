// Tests what facts and entries change, and questions to several parts of what is true.
#include <gtest/gtest.h>

#include "tests/runtime/cluster/duty_bench.h"

namespace shoal::truth_test {
namespace {

struct TruthTest : testing::Test, DutyBench {
  TruthTest() { train(); }
};

TEST_F(TruthTest, FollowsAFactBeforeAnybodyHearsOfIt) {
  truth.follow(BranchBegins{StartPoint{1, 1, true, "abc"}}, now);
  EXPECT_EQ(truth.phase, RunPhase::kGathering);
  EXPECT_EQ(truth.config.start.version, 1U);
  EXPECT_EQ(truth.config.policy.optimizer_step_at_start, 1U);
  EXPECT_NE(truth.history.branch(), truth.view().branch());
}

TEST_F(TruthTest, StandsWhereABranchBeginsBeforeItsFirstEntry) {
  record(commit_of(0));
  record(commit_of(1));
  EXPECT_EQ(truth.steps_done(), 2U);
  truth.follow(BranchBegins{StartPoint{1, 1, true, "abc"}}, now);
  EXPECT_EQ(truth.view().committed_steps(), 2U) << "the control: the view follows entries alone";
  EXPECT_EQ(truth.steps_done(), 1U);
  record(AddReplica{StageId{0}, ReplicaId{0}, Incarnation{99}, process(0, 0), 1});
  EXPECT_EQ(truth.steps_done(), 1U);
  record(commit_of(1));
  EXPECT_EQ(truth.steps_done(), 2U);
}

TEST_F(TruthTest, LetsNobodyJoinWhenNothingWouldComeOfIt) {
  EXPECT_TRUE(truth.may_join());
  truth.ending.last_step.committed(true);
  EXPECT_FALSE(truth.may_join());
  truth.ending.last_step.undo();
  ASSERT_TRUE(truth.fallback.lose_stage("lost", now));
  EXPECT_FALSE(truth.may_join());
}

TEST_F(TruthTest, WaitsForAllPlacesAtTheFirstStartAlone) {
  now += std::chrono::hours(1);
  EXPECT_TRUE(truth.is_first_start());
  EXPECT_FALSE(truth.is_patience_over(now));
  ASSERT_TRUE(truth.fallback.throw_back("lost", 0));
  EXPECT_FALSE(truth.is_first_start());
  EXPECT_TRUE(truth.is_patience_over(now));
}

TEST_F(TruthTest, MissesALeaverThatIsTheLastOrStillSaves) {
  truth.roster.leavers.add(process(0, 0), "node1", "shoal drain");
  EXPECT_EQ(truth.leavers_not_missed().size(), 1U);
  truth.checkpoints.order(1, {replica(0, 0), replica(1, 0)}, CheckpointOrder::Rank::kOneOfMany, now);
  EXPECT_TRUE(truth.leavers_not_missed().empty()) << "it saves";
  truth.checkpoints.forget_order();
  truth.roster.ended.insert(replica(0, 1));
  EXPECT_TRUE(truth.leavers_not_missed().empty()) << "it is the last";
}

TEST_F(TruthTest, SaysWhatMemoryAStageNeedsWhereThatWasTheReason) {
  truth.config.state_bytes = {3U << 20U, 3U << 20U};
  EXPECT_EQ(truth.with_needs(StageId{0}, "its actor ended"), "its actor ended");
}

}  // namespace
}  // namespace shoal::truth_test
