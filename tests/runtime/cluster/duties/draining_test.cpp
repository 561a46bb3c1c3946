// The duty that lets nodes leave without losing work (drain_test.cpp tests it in a whole run).
#include <gtest/gtest.h>

#include "runtime/cluster/duties/draining.h"
#include "tests/runtime/cluster/duty_bench.h"

namespace shoal::draining_test {
namespace {

struct DrainDutyTest : testing::Test, DutyBench {
  DrainDutyTest() { train(); }
  DrainDuty duty{truth, truth.roster.leavers};
};

TEST_F(DrainDutyTest, PlansNothingMoreForWhoeverLeaves) {
  const Answers answers = duty.on(DrainAsked{process(0, 1), "shoal drain"}, now);
  ASSERT_EQ(asked<AvoidReplicas>(answers).size(), 1U);
  EXPECT_EQ(asked<AvoidReplicas>(answers)[0].replicas, std::vector{replica(0, 1)});
  EXPECT_TRUE(duty.on(DrainAsked{process(0, 1), "shoal drain"}, now).all().empty()) << "it leaves already";
}

TEST_F(DrainDutyTest, SendsASpareAwayAtOnce) {
  const ProcessIncarnation spare = join("node9");
  const Answers answers = duty.on(DrainAsked{spare, "shoal drain"}, now);
  EXPECT_EQ(told<LeaverGoes>(answers).size(), 1U);
  EXPECT_TRUE(sent<LeaveRun>(answers).empty());
}

TEST_F(DrainDutyTest, TellsANodeThatItLeavesUnlessItSaysSoItself) {  // P-28a
  const auto orders = sent<LeaveRun>(duty.on(DrainAsked{process(0, 1), "shoal drain"}, now));
  ASSERT_EQ(orders.size(), 1U);
  EXPECT_EQ(orders[0].reason, "shoal drain");
  const Answers answers = duty.on(Leaving{process(1, 1), "SIGTERM"}, now);
  EXPECT_EQ(announced(answers), std::vector<std::string>{"draining"});
  EXPECT_TRUE(sent<LeaveRun>(answers).empty());
}

TEST_F(DrainDutyTest, TellsALeaverAgainOverItsNextLink) {  // P-28a: the first may be lost with the link
  (void)duty.on(DrainAsked{process(0, 1), "shoal drain"}, now);
  const auto orders = sent<LeaveRun>(duty.on(LinkedAgain{process(0, 1)}, now));
  ASSERT_EQ(orders.size(), 1U);
  EXPECT_EQ(orders[0].reason, "shoal drain");
  EXPECT_TRUE(duty.on(LinkedAgain{process(1, 1)}, now).all().empty()) << "it stays";
}

TEST_F(DrainDutyTest, LetsGoBetweenTwoStepsWhomNobodyMisses) {
  (void)duty.on(DrainAsked{process(0, 1), "shoal drain"}, now);
  const auto goes = told<LeaverGoes>(duty.on(LeaversDue{}, now));
  ASSERT_EQ(goes.size(), 1U);
  EXPECT_EQ(goes[0].process, process(0, 1));
}

TEST_F(DrainDutyTest, KeepsTheLastOfAStageUntilItsStateIsSaved) {
  (void)duty.on(DrainAsked{process(0, 0), "shoal drain"}, now);
  truth.roster.ended.insert(replica(0, 1));
  record(commit_of(0));
  EXPECT_TRUE(duty.on(LeaversDue{}, now).all().empty());
  EXPECT_TRUE(duty.on(SavedLeaversDue{}, now).all().empty());
  truth.checkpoints.begin_from(1, "abc");
  const Answers answers = duty.on(SavedLeaversDue{}, now);
  EXPECT_LT(place_of<StepForgotten>(answers), place_of<AllLeaversDue>(answers));
}

TEST_F(DrainDutyTest, EndsTheProcessWithGoodGraceAndGivesItUp) {
  const Answers answers = duty.on(LeaverGoes{process(0, 1), "shoal drain"}, now);
  ASSERT_EQ(sent<EndProcess>(answers).size(), 1U);
  EXPECT_EQ(sent<EndProcess>(answers)[0].exit_status, 0U);
  EXPECT_TRUE(sent<EndProcess>(answers)[0].storage_waits) << "its last lines belong to the run";
  EXPECT_EQ(told<GivenUp>(answers).size(), 1U);
}

TEST_F(DrainDutyTest, MeansANodeThatDiedWhileItLeftByWhatItsLastLifeWasTold) {
  (void)duty.on(DrainAsked{process(0, 1), "shoal drain"}, now);
  (void)duty.on(ProcessGone{process(0, 1), "node3", ProcessRole::kNode, "lost"}, now);
  const ProcessIncarnation other = join("node8");
  EXPECT_TRUE(duty.on(ProcessJoined{other, {}}, now).all().empty());
  truth.roster.processes.lose(process(0, 1));
  const ProcessIncarnation back = join("node3");
  EXPECT_EQ(told<LeaverGoes>(duty.on(ProcessJoined{back, {}}, now)).size(), 1U);
}

TEST_F(DrainDutyTest, TellsTheDevicesOfANodeThatDiedWhileTheyLeftApart) {
  const ProcessIncarnation device = join("node1", ProcessRole::kNode, 1);
  record(AddReplica{StageId{0}, ReplicaId{2}, Incarnation{99}, device, 0});
  (void)duty.on(DrainAsked{device, "shoal drain"}, now);
  (void)duty.on(ProcessGone{device, "node1:1", ProcessRole::kNode, "lost"}, now);
  truth.roster.processes.lose(device);
  truth.roster.processes.lose(process(0, 0));
  EXPECT_TRUE(duty.on(ProcessJoined{join("node1"), {}}, now).all().empty());
  const ProcessIncarnation back = join("node1", ProcessRole::kNode, 1);
  EXPECT_EQ(told<LeaverGoes>(duty.on(ProcessJoined{back, {}}, now)).size(), 1U);
}

TEST_F(DrainDutyTest, TellsADeviceThatWasLostBeforeWhenItIsBack) {
  truth.roster.processes.lose(process(0, 1));
  (void)duty.on(DrainExpected{"node3", "shoal drain"}, now);
  EXPECT_TRUE(duty.on(ProcessJoined{join("node8"), {}}, now).all().empty());
  EXPECT_EQ(told<LeaverGoes>(duty.on(ProcessJoined{join("node3"), {}}, now)).size(), 1U);
}

TEST_F(DrainDutyTest, HearsNoWishOnceTheRunIsStopped) {
  truth.ending.last_step.stop({"SIGTERM", RunEventKind::kStopped, 0});
  EXPECT_TRUE(duty.on(Leaving{process(0, 1), "SIGTERM"}, now).all().empty());
}

}  // namespace
}  // namespace shoal::draining_test
