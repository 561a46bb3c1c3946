// The duty that moves replicas to the stage that needs them more (rebalance_test.cpp has whole moves).
#include "runtime/cluster/duties/moves/rebalancing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "runtime/cluster/truth/stage_balance.h"
#include "tests/runtime/cluster/duty_bench.h"

namespace shoal::rebalancing_test {
namespace {

using namespace std::chrono_literals;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr Duration kPeriod = 10s;

SupervisorConfig rebalanced_run() {
  SupervisorConfig config = small_run();
  config.steps_target = 100000;
  config.rebalance_every = kPeriod;
  config.replicas = ReplicasWanted({4, 1});
  return config;
}

// Stage 0 has the replicas 11 to 14 on node1 to node4, stage 1 replica 21 on node5.
struct RebalanceDutyTest : testing::Test, DutyBench {
  explicit RebalanceDutyTest(const SupervisorConfig& config = rebalanced_run()) : DutyBench(config) {
    for (std::uint32_t slot = 0; slot < 4; ++slot) {
      record(AddReplica{StageId{0}, ReplicaId{slot}, replica(0, slot), join("node" + std::to_string(1 + slot)), 0});
    }
    record(AddReplica{StageId{1}, ReplicaId{0}, replica(1, 0), join("node5"), 0});
    truth.follow(TrainingBegins{}, now);
    (void)duty.on(TrainingBegins{}, now);
    (void)duty.on(TickCame{}, now);
    report(replica(0, 0));
  }
  void report(Incarnation who, double ms = 100) { (void)duty.on(MeasuredWork{who, ms, 10}, now); }
  [[nodiscard]] static SpawnStage order_of(std::uint64_t joiner) {
    SpawnStage order;
    order.stage = StageId{1};
    order.slot = ReplicaId{1};
    order.replica = Incarnation{joiner};
    return order;
  }
  Answers tick_after(Duration time) {
    now += time;
    return duty.on(TickCame{}, now);
  }
  // Decides, and is gone with the next commit.
  void leave() {
    (void)tick_after(kPeriod);
    ASSERT_TRUE(truth.roster.mover);
    record(commit_of(truth.view().committed_steps()));
    for (const MoverGoes& goes : told<MoverGoes>(duty.on(LeaversDue{}, now))) {
      record(RemoveReplica{goes.stage, goes.replica, goes.reason});
    }
    ASSERT_FALSE(truth.view().contains(truth.roster.mover->replica));
    EXPECT_TRUE(duty.on(TickCame{}, now).all().empty());
  }

  RebalanceDuty duty{truth, truth.speeds, truth.roster.mover};
};

TEST_F(RebalanceDutyTest, MovesOneToTheWeakestStageAtThePeriod) {
  EXPECT_TRUE(tick_after(kPeriod - 1s).all().empty());
  const Answers answers = tick_after(1s);
  ASSERT_TRUE(truth.roster.mover);
  EXPECT_EQ(truth.roster.mover->from, StageId{0});
  EXPECT_EQ(truth.roster.mover->to, StageId{1});
  EXPECT_THAT(announced(answers), ElementsAre("moving"));
  ASSERT_EQ(asked<AvoidReplicas>(answers).size(), 1U);
  EXPECT_THAT(asked<AvoidReplicas>(answers)[0].replicas, ElementsAre(truth.roster.mover->replica));
  EXPECT_THAT(announced(tick_after(kPeriod)), Not(Contains("moving"))) << "one at a time";
}

TEST_F(RebalanceDutyTest, TakesTheSpeedsThatReplicasReport) {
  for (std::uint32_t slot = 0; slot < 4; ++slot) report(replica(0, slot), slot == 2 ? 10 : 100);
  report(replica(1, 0), 1);
  EXPECT_THAT(announced(tick_after(kPeriod)), IsEmpty()) << "the one of stage 1 is faster than the four together";
  for (int step = 0; step < 50; ++step) report(replica(1, 0), 40);
  (void)tick_after(kPeriod);
  ASSERT_TRUE(truth.roster.mover) << "stage 1 has become slow";
  EXPECT_NE(truth.roster.mover->replica, replica(0, 2)) << "without the fast one stage 0 would be the weakest";
}

TEST_F(RebalanceDutyTest, WaitsForAMeasurement) {
  (void)duty.on(TrainingBegins{}, now);
  EXPECT_TRUE(tick_after(kPeriod).all().empty());
  report(replica(0, 0));
  EXPECT_THAT(announced(tick_after(1s)), ElementsAre("moving"));
}

// A step of twenty seconds is lost by a move, twenty machines went within a minute: the control is that the same gain
// is worth a move once machines stay.
TEST_F(RebalanceDutyTest, MovesNobodyWhereLostWorkDoesNotComeBackBeforeTheNextMachineGoes) {
  now += 20s;
  record(commit_of(0));
  const auto lose_guest = [&](const std::string& name) {
    const ProcessIncarnation guest = join(name);
    truth.roster.processes.lose(guest);
    (void)duty.on(ProcessGone{guest, name, ProcessRole::kNode, "lost"}, now);
  };
  for (int i = 0; i < 20; ++i) lose_guest("guest" + std::to_string(i));
  for (std::uint32_t slot = 0; slot < 4; ++slot) report(replica(0, slot), 100);
  report(replica(1, 0), 37);  // a move gains a third of what the mover computes
  const Answers answers = tick_after(RebalanceDuty::kStartGrace);
  EXPECT_THAT(announced(answers), Not(Contains("moving")));
  ASSERT_EQ(asked<Note>(answers).size(), 1U);
  EXPECT_THAT(asked<Note>(answers)[0].text, HasSubstr("does not pay for before another machine goes"));
  EXPECT_THAT(asked<Note>(answers)[0].text, HasSubstr("one goes about every 4 s")) << "twenty of them in 80 s";
  now += 5h;
  for (int step = 1; step < 900; ++step) record(commit_of(static_cast<std::uint64_t>(step)));
  EXPECT_THAT(announced(tick_after(kPeriod)), Contains("moving"));
}

TEST_F(RebalanceDutyTest, MovesForAWholeReplicaHoweverOftenMachinesGo) {
  now += 20s;
  record(commit_of(0));
  for (int i = 0; i < 100; ++i) {
    const std::string name = "guest" + std::to_string(i);
    const ProcessIncarnation guest = join(name);
    truth.roster.processes.lose(guest);
    (void)duty.on(ProcessGone{guest, name, ProcessRole::kNode, "lost"}, now);
  }
  const Answers answers = tick_after(RebalanceDuty::kStartGrace);
  EXPECT_THAT(announced(answers), Contains("moving")) << "one replica against four";
}

TEST_F(RebalanceDutyTest, TakesAMachineThatIsBackForNoLoss) {
  now += 20s;
  record(commit_of(0));
  for (std::uint32_t slot = 0; slot < 4; ++slot) report(replica(0, slot), 100);
  report(replica(1, 0), 37);
  for (int i = 0; i < 20; ++i) {
    const ProcessIncarnation guest = join("guest");
    truth.roster.processes.lose(guest);
    (void)duty.on(ProcessGone{guest, "guest", ProcessRole::kNode, "lost"}, now);
  }
  (void)join("guest");
  EXPECT_THAT(announced(tick_after(1s)), Contains("moving"));
}

// Twenty workers of keeper 7 that were killed come back later than a machine that was away for a moment.
struct LostWorkersTest : RebalanceDutyTest {
  ProcessIncarnation join_kept(const std::string& name, std::uint32_t keeper) {
    const ProcessIncarnation process = numbers.take_process();
    Join join;
    join.name = name;
    join.nonce = nonce_of_start(keeper, static_cast<std::uint32_t>(process.value));
    (void)truth.roster.processes.admit(join, process);
    return process;
  }
  void lose(ProcessIncarnation guest) {
    const std::string name = truth.roster.processes.name_of(guest);
    truth.roster.processes.lose(guest);
    (void)duty.on(ProcessGone{guest, name, ProcessRole::kNode, "lost"}, now);
  }
  // While it would pay to move, and not as long as machines go.
  void lose_twenty() {
    report_speeds();
    now += 1s;
    record(commit_of(0));
    for (int i = 0; i < 20; ++i) lose(join_kept(name_of(i), 7));
  }
  // Says whether somebody moves then.
  bool moves_when_they_are_back(std::uint32_t by_keeper) {
    lose_twenty();
    EXPECT_TRUE(tick_after(kPeriod - 2s).all().empty());
    for (int i = 0; i < 20; ++i) (void)join_kept(name_of(i), by_keeper);
    (void)tick_after(1s);
    return truth.roster.mover.has_value();
  }
  void report_speeds() {
    for (std::uint32_t slot = 0; slot < 4; ++slot) report(replica(0, slot));
    report(replica(1, 0), 37);
  }
  [[nodiscard]] static std::string name_of(int guest) { return "guest" + std::to_string(guest); }
};

TEST_F(LostWorkersTest, AreNoLostMachinesWhereTheirOwnKeeperStartsThemAgain) {
  EXPECT_TRUE(moves_when_they_are_back(7)) << "a start may take longer than a moment";
}

TEST_F(LostWorkersTest, AreLostMachinesWhereOthersComeUnderTheirNames) { EXPECT_FALSE(moves_when_they_are_back(8)); }

TEST_F(LostWorkersTest, AreLostMachinesWhereOthersUnderTheirNamesGoBeforeATick) {
  lose_twenty();
  now += kPeriod - 2s;
  for (int i = 0; i < 20; ++i) lose(join_kept(name_of(i), 8));
  EXPECT_THAT(announced(tick_after(1s)), Not(Contains("moving")));
}

TEST_F(LostWorkersTest, AreRememberedOverARollBack) {
  lose_twenty();
  truth.phase = RunPhase::kRollingBack;
  EXPECT_TRUE(tick_after(RebalanceDuty::kStartGrace).all().empty());
  truth.phase = RunPhase::kTraining;
  (void)duty.on(TrainingBegins{1}, now);
  report_speeds();
  now += 20s;
  record(commit_of(1));
  const Answers answers = tick_after(kPeriod);
  EXPECT_THAT(announced(answers), Not(Contains("moving")));
  ASSERT_EQ(asked<Note>(answers).size(), 1U);
  EXPECT_THAT(asked<Note>(answers)[0].text, HasSubstr("another machine goes"));
}

TEST_F(RebalanceDutyTest, GoesAfterACommitUnlessItIsSaving) {
  (void)tick_after(kPeriod);
  const Incarnation mover = truth.roster.mover->replica;
  truth.checkpoints.order(1, {mover, replica(1, 0)}, CheckpointOrder::Rank::kOneOfMany, now);
  EXPECT_TRUE(told<MoverGoes>(duty.on(LeaversDue{}, now)).empty());
  truth.checkpoints.forget_order();
  ASSERT_EQ(told<MoverGoes>(duty.on(LeaversDue{}, now)).size(), 1U);
  EXPECT_EQ(told<MoverGoes>(duty.on(LeaversDue{}, now))[0].replica, mover);
}

TEST_F(RebalanceDutyTest, HasMovedWhenItsWorkerServesTheOtherStage) {
  leave();
  const ProcessIncarnation worker = truth.roster.mover->process;
  truth.joins.ask(order_of(77), worker, now);
  EXPECT_TRUE(tick_after(1s).all().empty());
  (void)truth.joins.end(Incarnation{77});
  record(AddReplica{StageId{1}, ReplicaId{1}, Incarnation{77}, worker, 1});
  EXPECT_THAT(announced(tick_after(1s)), Contains("moved"));
  EXPECT_FALSE(truth.roster.mover);
}

TEST_F(RebalanceDutyTest, GivesUpAMoveThatCannotBe) {
  leave();
  EXPECT_TRUE(tick_after(RebalanceDuty::kPlaceWithin - 1s).all().empty());
  EXPECT_THAT(announced(tick_after(1s)), ElementsAre("move_given_up")) << "nobody ordered it";
  EXPECT_FALSE(truth.roster.mover);
  leave();
  truth.joins.ask(order_of(77), truth.roster.mover->process, now);
  EXPECT_TRUE(tick_after(RebalanceDuty::kPlaceWithin).all().empty()) << "it copies, for however long";
  (void)truth.joins.end(Incarnation{77});
  EXPECT_THAT(announced(tick_after(1s)), ElementsAre("move_given_up"));
}

TEST_F(RebalanceDutyTest, ComesInThePlaceOfTheLastOfAStageThatLeaves) {
  truth.roster.leavers.add(process(1, 0), "node5", "shoal drain");
  EXPECT_TRUE(truth.last_that_leaves());
  EXPECT_THAT(announced(tick_after(100ms)), ElementsAre("moving")) << "long before the period";
  EXPECT_EQ(truth.roster.mover->to, StageId{1});
  EXPECT_FALSE(truth.last_that_leaves()) << "it stays until the mover serves: nobody has to go back";
  EXPECT_TRUE(truth.leavers_not_missed().empty());
}

TEST_F(RebalanceDutyTest, StaysWhenItsStageHasBecomeShort) {
  (void)tick_after(kPeriod);
  for (std::uint32_t slot = 0; slot < 4; ++slot) {
    if (replica(0, slot) != truth.roster.mover->replica) truth.roster.ended.insert(replica(0, slot));
  }
  EXPECT_TRUE(told<MoverGoes>(duty.on(LeaversDue{}, now)).empty());
  EXPECT_THAT(announced(tick_after(100ms)), Contains("move_given_up"));
}

TEST_F(RebalanceDutyTest, LooksAtOnceWhenAStageLostCapacityForGood) {
  (void)tick_after(kPeriod);
  leave();
  record(AddReplica{StageId{1}, ReplicaId{1}, Incarnation{77}, truth.roster.mover->process, 1});
  EXPECT_THAT(announced(tick_after(100ms)), Contains("moved"));
  now += 1s;
  (void)duty.on(MemberLost{Incarnation{77}}, now);
  truth.roster.ended.insert(Incarnation{77});
  EXPECT_THAT(announced(tick_after(1s)), IsEmpty()) << "its process may be back in a moment";
  EXPECT_THAT(announced(tick_after(1s)), ElementsAre("moving")) << "long before the next period";
}

TEST_F(RebalanceDutyTest, LooksAtNothingWhenTheLostOneIsBack) {
  (void)tick_after(kPeriod);
  leave();
  const ProcessIncarnation worker = truth.roster.mover->process;
  record(AddReplica{StageId{1}, ReplicaId{1}, Incarnation{77}, worker, 1});
  (void)tick_after(100ms);
  (void)duty.on(MemberLost{Incarnation{77}}, now);
  truth.roster.ended.insert(Incarnation{77});
  truth.joins.ask(order_of(78), worker, now);
  EXPECT_THAT(announced(tick_after(3s)), IsEmpty());
}

TEST_F(RebalanceDutyTest, KeepsTheQuorumOfAStage) {
  truth.config.quorum = 4;
  EXPECT_THAT(announced(tick_after(kPeriod)), IsEmpty());
  truth.config.quorum = 3;
  EXPECT_THAT(announced(tick_after(kPeriod)), ElementsAre("moving"));
}

TEST_F(RebalanceDutyTest, MovesNobodyWhereTheRestOfTheRunIsTooShort) {
  record(commit_of(0));
  truth.config.steps_target = 2;
  const Answers answers = tick_after(kPeriod);
  EXPECT_THAT(announced(answers), IsEmpty());
  ASSERT_EQ(asked<Note>(answers).size(), 1U);
  EXPECT_THAT(asked<Note>(answers)[0].text, HasSubstr("does not pay"));
}

// The controls of tests/bench/moves_churn.
TEST_F(RebalanceDutyTest, WithoutCostsMovesAlsoWhereTheRestOfTheRunIsTooShort) {
  record(commit_of(0));
  truth.config.steps_target = 2;
  truth.config.rebalance.horizon_s = std::numeric_limits<double>::infinity();
  EXPECT_THAT(announced(tick_after(kPeriod)), ElementsAre("moving"));
}

TEST_F(RebalanceDutyTest, WithoutHysteresisMovesWhoHasJustBegun) {
  truth.config.rebalance.rest_s = 1000;
  EXPECT_THAT(announced(tick_after(kPeriod)), IsEmpty());
  truth.config.rebalance.least_gain = 0;
  EXPECT_THAT(announced(tick_after(kPeriod)), ElementsAre("moving"));
}

TEST_F(RebalanceDutyTest, NobodyMovesWithoutThePeriod) {
  truth.config.rebalance_every.reset();
  EXPECT_TRUE(tick_after(1h).all().empty());
}

TEST_F(RebalanceDutyTest, CountsEverybodyWhereTheyWillBe) {
  leave();
  const auto on_its_way = stage_balance(truth);
  EXPECT_EQ(on_its_way[0].replicas.size(), 3U);
  EXPECT_EQ(on_its_way[1].replicas.size(), 2U);
  truth.joins.ask(order_of(77), truth.roster.mover->process, now);
  EXPECT_EQ(stage_balance(truth)[1].replicas.size(), 2U) << "the joiner is the mover";
}

}  // namespace
}  // namespace shoal::rebalancing_test
