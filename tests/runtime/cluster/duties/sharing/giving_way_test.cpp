// The duty by which a worker that serves several stages gives one up.
#include "runtime/cluster/duties/sharing/giving_way.h"

#include <gtest/gtest.h>

#include "tests/runtime/cluster/duty_bench.h"

namespace shoal::giving_way_test {
namespace {

SupervisorConfig shared_run() {
  SupervisorConfig config = small_run();
  config.replicas = 1;
  config.share_devices = true;
  return config;
}

constexpr Incarnation kFirst{11}, kLast{12}, kNew{21};

struct GivingWay : testing::Test, DutyBench {
  explicit GivingWay(SupervisorConfig config = shared_run()) : DutyBench(std::move(config)) {
    add(0, kFirst, shared);
    add(1, kLast, shared);
    truth.follow(TrainingBegins{}, now);
  }
  void add(std::uint32_t stage, Incarnation replica, ProcessIncarnation process) {
    const auto slot = static_cast<std::uint32_t>(truth.view().replicas_of(StageId{stage}).size());
    record(AddReplica{StageId{stage}, ReplicaId{slot}, replica, process, truth.view().committed_steps()});
  }
  ProcessIncarnation shared = join("node1"), newcomer = join("node2");
  GivingWayDuty duty{truth, truth.roster};
};

TEST_F(GivingWay, WhatNobodyElseServesIsKept) {
  EXPECT_TRUE(duty.on(TickCame{}, now).all().empty());
  EXPECT_TRUE(duty.on(LeaversDue{}, now).all().empty());
}

TEST_F(GivingWay, TheDataLoaderAvoidsItThenItGoesBetweenTwoSteps) {
  add(1, kNew, newcomer);
  const Answers chosen = duty.on(TickCame{}, now);
  ASSERT_EQ(asked<AvoidReplicas>(chosen).size(), 1U);
  EXPECT_EQ(asked<AvoidReplicas>(chosen)[0].replicas, std::vector{kLast});
  EXPECT_TRUE(entries<RemoveReplica>(chosen).empty());
  EXPECT_TRUE(duty.on(TickCame{}, now).all().empty()) << "one at a time";
  const auto removed = entries<RemoveReplica>(duty.on(LeaversDue{}, now));
  ASSERT_EQ(removed.size(), 1U);
  EXPECT_EQ(removed[0].replica, kLast);
  EXPECT_EQ(removed[0].stage, StageId{1});
  EXPECT_TRUE(duty.on(LeaversDue{}, now).all().empty()) << "once";
  record(removed[0]);
  EXPECT_FALSE(truth.roster.giving_way);
  EXPECT_EQ(truth.roster.stages_of(shared), std::vector{StageId{0}});
}

TEST_F(GivingWay, WaitsUntilItsStateIsSaved) {
  add(1, kNew, newcomer);
  truth.checkpoints.order(1, {kFirst, kLast}, CheckpointOrder::Rank::kLast, {});
  (void)duty.on(TickCame{}, now);
  EXPECT_TRUE(duty.on(LeaversDue{}, now).all().empty());
  truth.checkpoints.forget_order();
  EXPECT_EQ(entries<RemoveReplica>(duty.on(LeaversDue{}, now)).size(), 1U);
}

TEST_F(GivingWay, StaysWhenTheOtherIsLostMeanwhile) {
  add(1, kNew, newcomer);
  (void)duty.on(TickCame{}, now);
  truth.roster.ended.insert(kNew);
  const Answers answers = duty.on(LeaversDue{}, now);
  EXPECT_TRUE(entries<RemoveReplica>(answers).empty());
  ASSERT_EQ(asked<AvoidReplicas>(answers).size(), 1U);
  EXPECT_TRUE(asked<AvoidReplicas>(answers)[0].replicas.empty());
}

TEST_F(GivingWay, NobodyIsTakenForTheOneWhoComesBack) {
  add(1, kNew, newcomer);
  (void)duty.on(TickCame{}, now);
  record(entries<RemoveReplica>(duty.on(LeaversDue{}, now)).at(0));
  EXPECT_EQ((truth.roster.slots.at({StageId{1}, ReplicaId{0}}).last_worker), "");
  record(RemoveReplica{StageId{1}, kNew, "lost"});
  EXPECT_EQ((truth.roster.slots.at({StageId{1}, ReplicaId{1}}).last_worker), "node2") << "who was lost is waited for";
}

struct NotShared : GivingWay {
  NotShared() : GivingWay(small_run()) {}
};

TEST_F(NotShared, NothingGivesWay) {
  truth.config.replicas = 1;
  add(1, kNew, newcomer);
  EXPECT_TRUE(duty.on(TickCame{}, now).all().empty());
}

}  // namespace
}  // namespace shoal::giving_way_test
