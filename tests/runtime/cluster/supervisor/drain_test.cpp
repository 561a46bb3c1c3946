// A node that leaves between two steps loses nobody's work, and the last one of a stage leaves its state behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/supervisor_bench.h"

namespace shoal::drain_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using Phase = SupervisorCore::Phase;

class Drain : public testing::Test {
 protected:
  Drain() : bench(long_run()) {
    bench.join(99, ProcessRole::kStorage);
    bench.train();
  }
  static SupervisorConfig long_run() {
    SupervisorConfig config = two_by_two();
    config.steps_target = 100;
    return config;
  }
  OperatorAnswer order(const std::string& name) {
    OperatorOutcome outcome = bench.core.operate({OperatorVerb::kDrain, name, {}, 0, "shoal drain"}, bench.now);
    bench.perform(std::move(outcome.effects));
    return outcome.answer;
  }
  [[nodiscard]] ReplicaMember first_of(std::uint32_t stage) const {
    return bench.core.view().replicas_of(StageId{stage})[0];
  }
  // Serves stage 0 alone from here on.
  void leave_one() {
    ASSERT_EQ(order("stage/0/0").verdict, OperatorVerdict::kDone);
    bench.step();
    ASSERT_EQ(bench.all<EndProcess>().size(), 1U);
  }

  SupervisorBench bench;
};

// A kill that comes before the order to end is all that its keeper hears of. The other device was not drained.
TEST_F(Drain, ADeviceThatItsKeeperStartsAgainLeavesAgain) {
  const auto start = [&](std::uint32_t device, std::uint32_t number) {
    Join join;
    join.name = "node9";
    join.device_index = device;
    join.nonce = nonce_of_start(7, number);
    bench.hear(join);
  };
  start(0, 1);
  start(1, 2);
  ASSERT_EQ(order("node9:1").verdict, OperatorVerdict::kDone);
  ASSERT_EQ(bench.all<EndProcess>().size(), 1U);
  start(1, 3);
  ASSERT_EQ(bench.all<EndProcess>().size(), 2U);
  EXPECT_EQ(bench.all<EndProcess>()[1].exit_status, 0U);
  std::vector<std::string> left;
  for (const RunEvent& event : bench.all<RunEvent>()) {
    if (event.kind == RunEventKind::kProcessLeft) left.push_back(event.subject);
  }
  EXPECT_EQ(left, (std::vector<std::string>{"node9:1", "node9:1"}));
}

TEST_F(Drain, ANodeLeavesBetweenTwoSteps) {
  const ReplicaMember leaver = first_of(0);
  const OperatorAnswer answer = order("node1");
  EXPECT_EQ(answer.verdict, OperatorVerdict::kDone);
  EXPECT_THAT(answer.text, HasSubstr("after step 0"));
  EXPECT_EQ(bench.avoided, std::vector<Incarnation>{leaver.incarnation});
  bench.later(std::chrono::seconds(5));
  EXPECT_TRUE(bench.all<EndProcess>().empty()) << "it works on the step";
  bench.step();
  ASSERT_EQ(bench.all<EndProcess>().size(), 1U);
  EXPECT_EQ(bench.all<EndProcess>()[0].exit_status, 0U);
  const auto& last = bench.entries.back().body;
  ASSERT_TRUE(std::holds_alternative<RemoveReplica>(last));
  EXPECT_EQ(std::get<RemoveReplica>(last).replica, leaver.incarnation);
  EXPECT_THAT(std::get<RemoveReplica>(last).reason, HasSubstr("node1 left: shoal drain"));
  EXPECT_TRUE(std::holds_alternative<Commit>(bench.entries[bench.entries.size() - 2].body));
  EXPECT_TRUE(bench.has_event(RunEventKind::kProcessLeft));
  EXPECT_FALSE(bench.has_event(RunEventKind::kProcessLost)) << "nobody's fault";
}

TEST_F(Drain, AStageIsTheProcessThatServesIt) {
  const ReplicaMember leaver = first_of(1);
  EXPECT_EQ(order("stage/1/0").verdict, OperatorVerdict::kDone);
  bench.step();
  for (const ReplicaMember& member : bench.core.view().replicas_of(StageId{1})) {
    EXPECT_NE(member.process, leaver.process);
  }
  EXPECT_EQ(bench.core.view().replicas_of(StageId{0}).size(), 2U);
}

TEST_F(Drain, ASpareLeavesAtOnce) {
  bench.join(5);
  EXPECT_THAT(order("node5").text, HasSubstr("served nothing"));
  EXPECT_EQ(bench.all<EndProcess>().size(), 1U);
}

TEST_F(Drain, WhoIsLeavingIsNotAskedAgain) {
  (void)order("node1");
  EXPECT_THAT(order("node1").text, HasSubstr("leaving already"));
  bench.hear(Leaving{first_of(0).process, "SIGTERM"});
  bench.step();
  EXPECT_EQ(bench.all<EndProcess>().size(), 1U);
}

TEST_F(Drain, WhoDiesBeforeItMayLeaveIsToldAgainWhenItsKeeperStartsIt) {
  const auto join_again = [&](std::uint64_t nonce) {
    Join join;
    join.name = "node1";
    join.nonce = nonce;
    bench.hear(join);
    return bench.all<Welcome>().back().process;
  };
  (void)order("node1");
  bench.perform(bench.core.gone(first_of(0).process, "killed", bench.now));
  EXPECT_TRUE(bench.all<EndProcess>().empty());
  const ProcessIncarnation second = join_again(71);
  ASSERT_EQ(bench.all<EndProcess>().size(), 1U);
  EXPECT_EQ(bench.all<EndProcess>()[0].exit_status, 0U);
  EXPECT_THAT(bench.all<EndProcess>()[0].reason, HasSubstr("shoal drain"));
  const ProcessIncarnation third = join_again(72);
  EXPECT_NE(third, second);
  EXPECT_EQ(bench.all<EndProcess>().size(), 1U) << "whoever starts it once more wants it back";
}

TEST(Leavers, RememberWhoDiedForAWhileAndOnlyWhoWasLeaving) {
  using namespace std::chrono_literals;
  Leavers leavers(1min);
  const Instant now = Instant{} + 1h;
  leavers.add(ProcessIncarnation{1}, "a", "drain");
  leavers.add(ProcessIncarnation{2}, "b", "drain");
  leavers.gone(ProcessIncarnation{2});
  EXPECT_TRUE(leavers.contains(ProcessIncarnation{1}));
  EXPECT_EQ(leavers.all().size(), 1U);
  for (const std::uint64_t process : {1, 2, 3}) leavers.died(ProcessIncarnation{process}, now);
  EXPECT_TRUE(leavers.empty());
  EXPECT_EQ(leavers.take_returned("b", now), std::nullopt) << "it had left";
  EXPECT_EQ(leavers.take_returned("a", now + 59s), "drain");
  EXPECT_EQ(leavers.take_returned("a", now + 59s), std::nullopt) << "once";
  leavers.add(ProcessIncarnation{4}, "a", "drain");
  leavers.died(ProcessIncarnation{4}, now);
  EXPECT_EQ(leavers.take_returned("a", now + 1min), std::nullopt);
}

TEST_F(Drain, TheLastOfAStageSavesFirstAndTheRunGoesBackToThat) {
  leave_one();
  bench.checkpoint = StartPoint{2, 2, true, "abc"};
  EXPECT_THAT(order("stage/0/1").text, HasSubstr("last to serve stage 0"));
  bench.step();
  EXPECT_EQ(bench.last_commit().checkpoint_by.size(), 2U);
  EXPECT_EQ(bench.core.view().committed_steps(), 2U);
  bench.step();
  EXPECT_EQ(bench.core.view().committed_steps(), 2U) << "a step that nobody could take up again";
  EXPECT_EQ(bench.all<EndProcess>().size(), 1U);
  bench.saved(2);
  EXPECT_EQ(bench.all<EndProcess>().size(), 2U);
  EXPECT_EQ(bench.not_beyond, 2U);
  EXPECT_EQ(bench.core.phase(), Phase::kGathering);
  EXPECT_TRUE(bench.has_event(RunEventKind::kRolledBack));
}

TEST_F(Drain, TheLastOfAStageWaitsForAFreeWorkerThatCopiesIt) {
  bench.join(5);
  EXPECT_EQ(order("stage/0/0").verdict, OperatorVerdict::kDone);
  bench.later(std::chrono::milliseconds(100));
  const SpawnStage joins = bench.all<SpawnStage>().back();
  EXPECT_EQ(joins.stage, StageId{0}) << "at once";
  EXPECT_EQ(joins.slot, ReplicaId{2}) << "beside the two that are there";
  EXPECT_THAT(order("stage/0/1").text, HasSubstr("leaves when another has copied its state"));
  bench.step();
  EXPECT_TRUE(bench.last_commit().checkpoint_by.empty());
  ASSERT_EQ(bench.core.view().replicas_of(StageId{0}).size(), 2U) << "they stay until the newcomer serves";
  const Incarnation last = bench.core.view().replicas_of(StageId{0}).front().incarnation;
  const std::uint64_t version = bench.core.view().committed_steps();
  bench.hear(StageReady{StageId{0}, last, {}, version, 7});
  bench.hear(StageReady{StageId{0}, joins.replica, {}, version, 7});
  ASSERT_EQ(bench.core.view().replicas_of(StageId{0}).size(), 3U);
  bench.step();
  ASSERT_EQ(bench.core.view().replicas_of(StageId{0}).size(), 1U);
  EXPECT_EQ(bench.core.view().replicas_of(StageId{0}).front().incarnation, joins.replica);
  EXPECT_EQ(bench.all<EndProcess>().size(), 2U);
  EXPECT_FALSE(bench.has_event(RunEventKind::kRolledBack));
}

TEST_F(Drain, WhatCannotBeSavedKeepsTheLastOneAndStopsNobody) {
  leave_one();
  (void)order("stage/0/1");
  bench.step();
  bench.hear(CheckpointFailed{bench.core.view().branch(), 2, "disk full"});
  bench.step();
  EXPECT_EQ(bench.core.view().committed_steps(), 3U);
  EXPECT_FALSE(bench.last_commit().checkpoint_by.empty()) << "it is tried again";
  EXPECT_EQ(bench.all<EndProcess>().size(), 1U);
  bench.beat(180);  // nothing is heard of the shards
  bench.step();
  EXPECT_EQ(bench.core.view().committed_steps(), 4U);
}

// The groups need not repeat their votes, which they do once a minute.
TEST_F(Drain, WhatWasHeldForTheLastOneIsCommittedOnceItIsNot) {
  for (const bool is_told : {true, false}) {
    SupervisorBench held(long_run());
    held.join(99, ProcessRole::kStorage);
    held.train();
    held.hear(Leaving{held.process_of(0, 0), "SIGTERM"});
    held.step();
    held.hear(Leaving{held.process_of(0, 0), "SIGTERM"});
    held.step();
    held.step();
    ASSERT_EQ(held.core.view().committed_steps(), 2U);
    EXPECT_EQ(held.core.explain_waiting(held.now),
              "training step 2 of 100; waiting for the checkpoint of node3, the last of stage 0, before it leaves; "
              "stage 0 has "
              "1 of 2 replicas; no worker is free");
    if (is_told) {
      held.hear(CheckpointFailed{held.core.view().branch(), 2, "disk full"});
    } else {
      held.beat(121);
    }
    EXPECT_EQ(held.core.view().committed_steps(), 3U);
  }
}

TEST_F(Drain, WhoSavesACheckpointStaysUntilItIsSaved) {
  SupervisorConfig config = long_run();
  config.checkpoint_every = 1;
  SupervisorBench saving(config);
  saving.join(99, ProcessRole::kStorage);
  saving.train();
  saving.step();
  const auto savers = saving.last_commit().checkpoint_by;
  const ReplicaMember saver = saving.core.view().replicas_of(StageId{0})[0];
  ASSERT_EQ(savers[0], saver.incarnation);
  saving.hear(Leaving{saver.process, "SIGTERM"});
  saving.step();  // the next checkpoint is somebody else's
  EXPECT_NE(saving.last_commit().checkpoint_by[0], saver.incarnation);
  EXPECT_EQ(saving.all<EndProcess>().size(), 1U);
}

TEST_F(Drain, OnlyNodesAndStagesLeave) {
  for (const std::string name : {"metrics", "supervisor", "data_loader", "router/node1", "sync_group/0", "storage"}) {
    const OperatorAnswer answer = order(name);
    EXPECT_EQ(answer.verdict, OperatorVerdict::kUnknownName) << name << ": a mistake of the person, exit 2";
    EXPECT_THAT(answer.text, AllOf(HasSubstr(name + " cannot be drained, only a node"),
                                   HasSubstr("there are: stage/0/0 stage/0/1 stage/1/0 stage/1/1 node1"),
                                   Not(HasSubstr("router/node2"))));
  }
  const OperatorAnswer unknown = order("node77");
  EXPECT_EQ(unknown.verdict, OperatorVerdict::kUnknownName);
  EXPECT_THAT(unknown.text, AllOf(HasSubstr("nothing here is named 'node77'"), Not(HasSubstr("metrics"))));
  bench.step();
  EXPECT_TRUE(bench.all<EndProcess>().empty());
}

// Stage 1 loses both its replicas, and two nodes come in their place: whoever is not leaving serves again.
TEST_F(Drain, WhoWasLeavingIsNotPlacedAgainWhenTheRunGoesBack) {
  for (const bool drains : {true, false}) {
    SupervisorBench lossy(long_run());
    lossy.train();
    const ReplicaMember node = lossy.core.view().replicas_of(StageId{0})[0];
    if (drains) lossy.hear(Leaving{node.process, "SIGTERM"});
    for (const std::size_t left : {1U, 0U}) {
      lossy.sent.clear();
      lossy.lose(lossy.process_of(1, left));
    }
    lossy.later(std::chrono::seconds(6));
    ASSERT_TRUE(lossy.has_event(RunEventKind::kRolledBack));
    for (const std::uint64_t number : {5U, 6U}) lossy.join(number);
    lossy.later(std::chrono::seconds(11));
    const auto is_placed = std::ranges::any_of(lossy.sent, [&](const Letter& letter) {
      return std::holds_alternative<SpawnStage>(letter.body) && letter.to.process == node.process;
    });
    EXPECT_EQ(is_placed, !drains);
    EXPECT_EQ(lossy.all<EndProcess>().size(), drains ? 1U : 0U) << "what it had is no longer wanted";
    EXPECT_EQ(lossy.has_event(RunEventKind::kProcessLeft), drains);
  }
}

TEST_F(Drain, ALeaverThatDiesIsLostLikeAnybody) {
  const ReplicaMember leaver = first_of(0);
  (void)order("node1");
  bench.lose(leaver.process);
  EXPECT_EQ(bench.core.view().replicas_of(StageId{0}).size(), 1U);
  EXPECT_TRUE(bench.has_event(RunEventKind::kProcessLost));
  EXPECT_FALSE(bench.has_event(RunEventKind::kProcessLeft));
  bench.step();
  EXPECT_TRUE(bench.all<EndProcess>().empty());
}

}  // namespace
}  // namespace shoal::drain_test
