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

TEST_F(TruthTest, CountsTheMemoryOfAMachineOnceForAllWorkersOfItsNode) {
  truth.config.needs = needs_of_hosts({6'000, 5'000});
  const auto host_left_to = [&](ProcessIncarnation one) { return truth.offer_of(one, truth.host_loads()).host_bytes; };
  const ProcessIncarnation first = join_on_gpu("big", 0, 10'000);
  const ProcessIncarnation second = join_on_gpu("big", 1, 10'000);
  const ProcessIncarnation other = join_on_gpu("other", 0, 10'000);
  EXPECT_EQ(host_left_to(second), 10'000U);
  record(AddReplica{StageId{0}, ReplicaId{2}, Incarnation{99}, first, 0});
  EXPECT_EQ(host_left_to(second), 4'000U);
  EXPECT_EQ(host_left_to(first), 10'000U) << "its own counts where it is asked for more";
  EXPECT_EQ(host_left_to(other), 10'000U);
  EXPECT_FALSE(truth.fits(second, StageId{1}, truth.host_loads()));
  EXPECT_TRUE(truth.fits(other, StageId{1}, truth.host_loads()));
  truth.roster.ended.insert(Incarnation{99});
  EXPECT_TRUE(truth.fits(second, StageId{1}, truth.host_loads())) << "it has ended";
  truth.joins.ask(SpawnStage{StageId{1}, ReplicaId{2}, Incarnation{100}, Branch{}}, first, now);
  EXPECT_EQ(host_left_to(second), 5'000U) << "it joins";
  truth.starts.replicas.ask(SpawnStage{StageId{0}, ReplicaId{3}, Incarnation{101}, Branch{}}, first, now);
  EXPECT_EQ(host_left_to(second), 1U) << "nothing is left; 0 would say that nobody knows";
  EXPECT_EQ(host_left_to(ProcessIncarnation{12345}), 0U) << "no such process";
}

TEST_F(TruthTest, CountsTheMemoryOfAMachineOnceForAllNodesOnIt) {
  truth.config.needs = needs_of_hosts({6'000, 5'000});
  const auto host_left_to = [&](ProcessIncarnation one) { return truth.offer_of(one, truth.host_loads()).host_bytes; };
  const ProcessIncarnation first = join_on_gpu("one", 0, 10'000, 7);
  const ProcessIncarnation second = join_on_gpu("two", 0, 10'000, 7);
  const ProcessIncarnation other = join_on_gpu("other", 0, 10'000, 8);
  const ProcessIncarnation unknown = join_on_gpu("unknown", 0, 10'000);
  record(AddReplica{StageId{0}, ReplicaId{2}, Incarnation{99}, first, 0});
  EXPECT_EQ(host_left_to(second), 4'000U);
  EXPECT_EQ(host_left_to(first), 10'000U) << "its own counts where it is asked for more";
  EXPECT_EQ(host_left_to(other), 10'000U);
  EXPECT_EQ(host_left_to(unknown), 10'000U) << "an identity that nobody knows is nobody else's";
  EXPECT_FALSE(truth.fits(second, StageId{1}, truth.host_loads()));
  EXPECT_TRUE(truth.fits(other, StageId{1}, truth.host_loads()));
  truth.roster.ended.insert(Incarnation{99});
  EXPECT_TRUE(truth.fits(second, StageId{1}, truth.host_loads())) << "it has ended";
  truth.joins.ask(SpawnStage{StageId{1}, ReplicaId{2}, Incarnation{100}, Branch{}}, first, now);
  EXPECT_EQ(host_left_to(second), 5'000U);
  truth.roster.processes.lose(first);
  (void)truth.joins.end_on(first);
  EXPECT_EQ(host_left_to(second), 10'000U) << "its worker has died";
}

// A first worker on the processor states what is free; what others on its machine state bounds it, too.
TEST_F(TruthTest, CountsTheLeastThatAnybodyStatesOfAMachineForWhoStatesNothing) {
  truth.config.needs = {{1, 5'000}, {1, 5'000}};
  for (StageNeed& need : truth.config.needs) need.on_gpu = {1, 0, 1, 6'000, 0};
  MachineOffer processor;
  processor.memory_bytes = 9'000;
  processor.machine = 7;
  const ProcessIncarnation free = join_giving(processor, "one", 0);
  EXPECT_EQ(truth.offer_of(free, truth.host_loads()).host_bytes, 0U);
  const ProcessIncarnation gpu = join_on_gpu("two", 0, 10'000, 7);
  record(AddReplica{StageId{0}, ReplicaId{2}, Incarnation{99}, gpu, 0});
  EXPECT_EQ(truth.offer_of(free, truth.host_loads()).host_bytes, 4'000U);
  EXPECT_FALSE(truth.fits(free, StageId{1}, truth.host_loads()));
  const ProcessIncarnation smaller = join_on_gpu("three", 0, 8'000, 7);
  EXPECT_EQ(truth.offer_of(free, truth.host_loads()).host_bytes, 2'000U);
  EXPECT_EQ(truth.offer_of(gpu, truth.host_loads()).host_bytes, 8'000U) << "the least counts for all";
  truth.roster.processes.lose(smaller);
  EXPECT_EQ(truth.offer_of(free, truth.host_loads()).host_bytes, 4'000U) << "who has died states nothing";
  truth.roster.ended.insert(Incarnation{99});
  EXPECT_TRUE(truth.fits(free, StageId{1}, truth.host_loads()));
}

TEST_F(TruthTest, SaysWhatMemoryAStageNeedsWhereThatWasTheReason) {
  truth.config.state_bytes = {3U << 20U, 3U << 20U};
  EXPECT_EQ(truth.with_needs(StageId{0}, "its actor ended"), "its actor ended");
}

}  // namespace
}  // namespace shoal::truth_test
