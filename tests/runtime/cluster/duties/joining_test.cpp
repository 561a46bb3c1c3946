// The duty that lets replicas join (join_desk_test.cpp tests when one is added).
#include <gtest/gtest.h>

#include "runtime/cluster/duties/joining.h"
#include "tests/runtime/cluster/duty_bench.h"

namespace shoal {
namespace {

struct JoinDutyTest : testing::Test, DutyBench {
  // Stage 1 lacks a replica, and a worker is free.
  JoinDutyTest() {
    train();
    record(RemoveReplica{StageId{1}, replica(1, 1), "lost"});
  }
  JoinDuty duty{truth, truth.joins, numbers};
};

TEST_F(JoinDutyTest, StartsACopyOfAMemberOnAFreeWorker) {
  const auto orders = sent<SpawnStage>(duty.on(WorkersChanged{}, now));
  ASSERT_EQ(orders.size(), 1U);
  EXPECT_EQ(orders[0].stage, StageId{1});
  EXPECT_EQ(orders[0].donor, replica(1, 0));
  EXPECT_TRUE(duty.on(WorkersChanged{}, now).all().empty()) << "the place is taken";
}

TEST_F(JoinDutyTest, StartsNobodyInTheLastStepOrWhenAStageIsLost) {
  truth.last_step.stop({"SIGTERM", "stopped", 0});
  EXPECT_TRUE(duty.on(WorkersChanged{}, now).all().empty());
}

TEST_F(JoinDutyTest, AddsTheOneWhoseStateIsThatOfAMember) {
  const SpawnStage order = sent<SpawnStage>(duty.on(WorkersChanged{}, now)).at(0);
  (void)duty.on(ReadyInTraining{{StageId{1}, replica(1, 0), {}, 0, 5}}, now);
  (void)duty.on(ReadyInTraining{{StageId{1}, order.replica, {}, 0, 5}}, now);
  const Answers answers = duty.on(JoinersDue{}, now);
  ASSERT_EQ(entries<AddReplica>(answers).size(), 1U);
  EXPECT_EQ(entries<AddReplica>(answers)[0].replica, order.replica);
}

TEST_F(JoinDutyTest, RefusesTheOneWhoseStateDiffers) {
  const SpawnStage order = sent<SpawnStage>(duty.on(WorkersChanged{}, now)).at(0);
  (void)duty.on(ReadyInTraining{{StageId{1}, replica(1, 0), {}, 0, 5}}, now);
  (void)duty.on(ReadyInTraining{{StageId{1}, order.replica, {}, 0, 6}}, now);
  const Answers answers = duty.on(JoinersDue{}, now);
  EXPECT_TRUE(entries<AddReplica>(answers).empty());
  EXPECT_EQ(sent<EndStage>(answers).size(), 1U);
  EXPECT_EQ(told<ReplicaFailed>(answers).size(), 1U);
}

TEST_F(JoinDutyTest, WaitsForNobodyWhoWasNotAsked) {
  const Answers answers = duty.on(ReadyInTraining{{StageId{1}, Incarnation{99}, {}, 0, 5}}, now);
  EXPECT_EQ(told<StrangerReady>(answers).size(), 1U);
  EXPECT_EQ(told<JoinersDue>(answers).size(), 1U);
}

TEST_F(JoinDutyTest, AsksAnotherWhenAJoinerEnds) {
  const SpawnStage order = sent<SpawnStage>(duty.on(WorkersChanged{}, now)).at(0);
  const Answers answers = duty.on(StageEnded{StageId{1}, order.replica, "a bug"}, now);
  EXPECT_LT(place_of<ReplicaFailed>(answers), place_of<WorkersChanged>(answers));
  EXPECT_TRUE(truth.joins.joiners().empty());
}

TEST_F(JoinDutyTest, EndsJoinersWhenABranchBegins) {
  (void)duty.on(WorkersChanged{}, now);
  EXPECT_EQ(sent<EndStage>(duty.on(BranchBegins{}, now)).size(), 1U);
}

}  // namespace
}  // namespace shoal
