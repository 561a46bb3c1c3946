// SupervisorCore while it trains: lost replicas come back, late ones hold a commit, lost checkpoints are asked for
// again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

#include "tests/support/rounds_every.h"
#include "tests/support/supervisor_bench.h"

namespace shoal::supervisor_recovery_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::Not;
using Phase = SupervisorCore::Phase;

SupervisorConfig long_run() {
  SupervisorConfig config = two_by_two();
  config.steps_target = 100;
  return config;
}

SpawnStage last_spawn(const SupervisorBench& bench) { return bench.all<SpawnStage>().back(); }

std::size_t events(const SupervisorBench& bench, RunEventKind kind) {
  const auto all = bench.all<RunEvent>();
  return static_cast<std::size_t>(std::ranges::count_if(all, [&](const RunEvent& one) { return one.kind == kind; }));
}

// Trains; then a replica of stage 0 is lost, and a process that joins is to take its place.
SpawnStage replace_one(SupervisorBench& bench) {
  bench.train();
  bench.lose(bench.process_of(0, 0));
  bench.join(7);
  return last_spawn(bench);
}

// A member says its state, the joiner says the same one.
void say_ready(SupervisorBench& bench, const SpawnStage& joiner, std::uint64_t version, std::uint64_t digest = 5) {
  bench.hear(StageReady{joiner.stage, joiner.donor, {}, version, 5});
  bench.hear(StageReady{joiner.stage, joiner.replica, {}, version, digest});
}

TEST(Recovery, AStageActorThatEndedIsStartedInItsProcessBeforeAnythingElse) {
  SupervisorBench bench(long_run());
  bench.train();
  const ReplicaMember ended = bench.core.view().replicas_of(StageId{1})[0];
  bench.sent.clear();
  bench.hear(StageEnded{StageId{1}, ended.incarnation, "a bug", {}});
  const auto is_order = [](const Letter& letter) { return std::holds_alternative<SpawnStage>(letter.body); };
  const auto letter = std::ranges::find_if(bench.sent, is_order);
  ASSERT_NE(letter, bench.sent.end()) << "it waits for no tick";
  EXPECT_EQ(letter->to, to_node_agent(ended.process));
  const SpawnStage& order = std::get<SpawnStage>(letter->body);
  EXPECT_EQ(order.slot, ended.slot);
  EXPECT_EQ(order.donor, bench.core.view().replicas_of(StageId{1})[0].incarnation);
  EXPECT_FALSE(bench.core.view().contains(ended.incarnation));
}

TEST(Recovery, AJoinerIsAddedAtTheCommittedVersionWithAMembersDigest) {
  SupervisorBench bench(long_run());
  bench.train();
  bench.step();
  bench.lose(bench.process_of(0, 0));
  bench.join(7);
  const SpawnStage order = last_spawn(bench);
  EXPECT_EQ(bench.core.view().replicas_of(StageId{0}).size(), 1U);
  say_ready(bench, order, 1);
  ASSERT_TRUE(bench.core.view().contains(order.replica));
  EXPECT_EQ(bench.core.view().find(order.replica)->slot, order.slot);
  EXPECT_EQ(events(bench, RunEventKind::kReplicaAdded), 1U);
  bench.later(seconds(1));
  EXPECT_EQ(last_spawn(bench).replica, order.replica) << "and nobody else is started";
}

// The process asks again until it hears its Welcome, and letters repeat.
TEST(Recovery, AProcessThatJoinsAgainIsAskedForTheSameReplicaAgain) {
  SupervisorBench bench(long_run());
  for (std::uint64_t number = 1; number <= 3; ++number) bench.join(number);
  for (int repeat = 0; repeat < 4; ++repeat) bench.join(4);
  std::set<Incarnation> asked;
  for (const SpawnStage& order : bench.all<SpawnStage>()) asked.insert(order.replica);
  EXPECT_EQ(asked.size(), 4U) << "one for each place";
  bench.ready();
  ASSERT_EQ(bench.core.phase(), Phase::kTraining);
  EXPECT_TRUE(bench.all<EndStage>().empty());
  bench.lose(bench.process_of(0, 0));
  bench.sent.clear();
  for (int repeat = 0; repeat < 4; ++repeat) bench.join(7);
  const auto orders = bench.all<SpawnStage>();
  ASSERT_EQ(orders.size(), 4U) << "each may have been lost";
  for (const SpawnStage& order : orders) EXPECT_EQ(order.replica, orders[0].replica);
  say_ready(bench, orders[0], 0);
  EXPECT_TRUE(bench.core.view().contains(orders[0].replica));
}

// The replica that it says to serve then is the one that was asked for.
TEST(Recovery, AReplicaThatStartsOutlivesTheLinkOfItsProcess) {
  SupervisorBench bench(long_run());
  const SpawnStage order = replace_one(bench);
  Join again;
  again.name = "node7";
  again.nonce = 7;
  again.serves = {{order.stage, order.slot, order.replica, order.branch, 0}};
  bench.hear(again);
  EXPECT_TRUE(bench.all<EndStage>().empty());
  bench.hear(StageEnded{order.stage, order.replica, "it has ended", {}});
  bench.later(seconds(1));
  EXPECT_NE(last_spawn(bench).replica, order.replica) << "its end is heard of by and by";
}

TEST(Recovery, AStrangerThatIsReadyIsEndedWhileOthersStart) {
  SupervisorBench bench(long_run());
  for (std::uint64_t number = 1; number <= 4; ++number) bench.join(number);
  ASSERT_EQ(bench.core.phase(), Phase::kSpawning);
  bench.hear(StageReady{StageId{0}, Incarnation{777}, ProcessIncarnation{1}, 0, 5});
  ASSERT_EQ(bench.all<EndStage>().size(), 1U);
  EXPECT_EQ(bench.all<EndStage>()[0].replica, Incarnation{777});
}

TEST(Recovery, ADigestThatDiffersIsNeverAdded) {  // S-3
  SupervisorBench bench(long_run());
  const SpawnStage order = replace_one(bench);
  say_ready(bench, order, 0, 6);
  EXPECT_FALSE(bench.core.view().contains(order.replica));
  EXPECT_EQ(bench.all<EndStage>().back().replica, order.replica);
  EXPECT_EQ(events(bench, RunEventKind::kStateDiffers), 1U);
  bench.later(seconds(1));
  EXPECT_NE(last_spawn(bench).replica, order.replica) << "it may try again";
}

// A joiner of stage 0 that holds the second commit, for which both stages have voted.
SpawnStage hold_a_commit(SupervisorBench& bench) {
  const SpawnStage order = replace_one(bench);
  bench.step();
  bench.hear(StageReady{order.stage, order.replica, {}, 0, 5});
  bench.step();
  EXPECT_EQ(bench.core.view().committed_steps(), 1U) << "held";
  return order;
}

TEST(Recovery, TheNextCommitWaitsForALateJoinerAndGoesOnWithoutIt) {
  for (const bool comes : {true, false}) {
    SupervisorBench bench(long_run());
    const SpawnStage order = hold_a_commit(bench);
    EXPECT_EQ(events(bench, RunEventKind::kCommitHeld), 1U);
    if (comes) {
      say_ready(bench, order, 1);
      EXPECT_TRUE(bench.core.view().contains(order.replica));
      bench.hear(bench.vote_of(0));
      EXPECT_EQ(bench.core.view().committed_steps(), 2U) << "the vote of its stage was void, the other one stands";
    } else {
      bench.watch(CommitHolds::kShortest + milliseconds(1));
      EXPECT_EQ(bench.core.view().committed_steps(), 2U);
      bench.later(milliseconds(100));
      EXPECT_EQ(events(bench, RunEventKind::kCommitReleased), 1U);
    }
  }
}

// The joiner was stopped with it.
TEST(Recovery, ACommitIsHeldOverAPauseOfTheSupervisorsOwn) {
  SupervisorBench bench(long_run());
  const SpawnStage order = hold_a_commit(bench);
  bench.later(std::chrono::minutes(10));
  EXPECT_EQ(bench.core.view().committed_steps(), 1U) << "held";
  say_ready(bench, order, 1);
  EXPECT_TRUE(bench.core.view().contains(order.replica));
}

TEST(Recovery, ACommitIsNotHeldForOneThatDiedMeanwhile) {
  SupervisorBench bench(long_run());
  const SpawnStage order = hold_a_commit(bench);
  bench.hear(StageEnded{order.stage, order.replica, "a bug", {}});
  bench.later(milliseconds(100));
  EXPECT_EQ(bench.core.view().committed_steps(), 2U);
}

TEST(Recovery, ACommitIsNotHeldForOneWhoseStateDiffers) {
  for (const std::uint64_t digest : {5U, 6U}) {
    SupervisorBench bench(long_run());
    const SpawnStage order = hold_a_commit(bench);
    say_ready(bench, order, 1, digest);
    EXPECT_EQ(events(bench, RunEventKind::kStateDiffers), digest == 5 ? 0U : 1U);
    EXPECT_EQ(bench.core.view().committed_steps(), digest == 5 ? 1U : 2U) << "whoever is added voids a vote";
    bench.later(milliseconds(100));
    EXPECT_EQ(bench.core.view().committed_steps(), digest == 5 ? 1U : 2U);
  }
}

TEST(Recovery, SaysWhatTheNextCommitWaitsFor) {
  SupervisorBench bench(long_run());
  const auto words = [&bench] { return bench.core.explain_waiting(bench.now); };
  const SpawnStage order = hold_a_commit(bench);
  EXPECT_EQ(words(),
            "training step 1 of 100; waiting for a replica that catches up; stage 0 has 1 of 2 replicas, 1 is joining");
  say_ready(bench, order, 1);
  EXPECT_EQ(words(), "training step 1 of 100; waiting for the sum of stage 0") << "its vote is void";
  bench.hear(bench.vote_of(0));
  EXPECT_EQ(words(), "training step 2 of 100; waiting for the sums of stages 0 and 1");
}

TEST(Recovery, NamesALostWorkerForAsLongAsOneIsMissing) {
  SupervisorBench bench(long_run());
  bench.train();
  const auto words = [&bench] { return bench.core.explain_waiting(bench.now); };
  EXPECT_THAT(words(), Not(HasSubstr("was lost")));
  bench.lose(bench.process_of(0, 0));
  EXPECT_THAT(words(), HasSubstr("; node1 was lost: killed"));
  bench.join(1);
  EXPECT_THAT(words(), Not(HasSubstr("was lost")));
}

TEST(Recovery, SaysWhichRoundTheNextCommitWaitsFor) {
  SupervisorConfig config = long_run();
  config.rounds = rounds_every(1);
  SupervisorBench bench(config);
  bench.train();
  bench.step();
  for (const std::uint32_t stage : {0U, 1U}) bench.hear(bench.vote_of(stage));
  ASSERT_EQ(bench.core.view().committed_steps(), 1U);
  EXPECT_EQ(bench.core.explain_waiting(bench.now),
            "training step 1 of 100; waiting for round 1 of fragment 0 of stages 0 and 1");
}

TEST(Recovery, WorkersBeyondTheReplicasStaySparesUnlessMoreAreAllowed) {
  for (const std::uint32_t most : {0U, 3U}) {
    SupervisorConfig config = long_run();
    config.replicas_max = most;
    SupervisorBench bench(config);
    bench.train();
    bench.join(7);
    EXPECT_EQ(bench.all<SpawnStage>().size(), most == 3 ? 5U : 4U);
  }
}

TEST(Recovery, WhoEndsAgainAndAgainIsStartedByItsKeeper) {
  SupervisorBench bench(long_run());
  bench.train();
  const ProcessIncarnation process = bench.process_of(0, 0);
  Incarnation replica = bench.core.view().replicas_of(StageId{0})[0].incarnation;
  for (int end = 0; end < 4; ++end) {
    bench.hear(StageEnded{StageId{0}, replica, "a bug", {}});
    for (int tick = 0; tick < 10; ++tick) bench.later(milliseconds(100));
    replica = last_spawn(bench).replica;
  }
  EXPECT_EQ(events(bench, RunEventKind::kRestartBudgetSpent), 1U);
  ASSERT_EQ(bench.all<EndProcess>().size(), 1U);
  EXPECT_EQ(bench.all<EndProcess>()[0].exit_status, 1U);
  EXPECT_EQ(bench.core.phase(), Phase::kTraining);
  bench.lose(process);
  const std::size_t spawned = bench.all<SpawnStage>().size();
  bench.join(7);
  EXPECT_EQ(bench.all<SpawnStage>().size(), spawned + 1) << "another worker takes over";
}

TEST(Recovery, ARollBackEndsWhoJoins) {
  SupervisorBench bench(long_run());
  const SpawnStage order = replace_one(bench);
  bench.lose(bench.process_of(0, 0));
  const auto ended = bench.all<EndStage>();
  EXPECT_TRUE(std::ranges::any_of(ended, [&](const EndStage& one) { return one.replica == order.replica; }));
}

SupervisorConfig with_checkpoints(std::uint64_t target) {
  SupervisorConfig config = two_by_two();
  config.steps_target = target;
  config.checkpoint_every = 2;
  return config;
}

// Both steps are committed and evaluated; the last checkpoint is on its way to storage.
void train_to_the_end(SupervisorBench& bench) {
  bench.join(8, ProcessRole::kStorage);
  bench.train();
  bench.step();
  bench.step();
  bench.evaluated();
}

TEST(Recovery, ACheckpointWhoseSaverDiedIsCarriedByTheNextCommit) {
  SupervisorBench bench(with_checkpoints(100));
  bench.join(8, ProcessRole::kStorage);
  bench.train();
  bench.step();
  bench.step();
  ASSERT_FALSE(bench.last_commit().checkpoint_by.empty());
  bench.lose(bench.process_of(0, 0));
  bench.later(seconds(2));
  EXPECT_EQ(events(bench, RunEventKind::kCheckpointRepeated), 1U);
  bench.step();
  EXPECT_FALSE(bench.last_commit().checkpoint_by.empty());
  bench.saved(3);
  bench.later(seconds(2));
  bench.step();
  EXPECT_FALSE(bench.last_commit().checkpoint_by.empty()) << "and the usual one";
  bench.saved(4);
  bench.step();
  EXPECT_TRUE(bench.last_commit().checkpoint_by.empty());
}

TEST(Recovery, ACheckpointWaitsForStorageAndTrainingDoesNot) {
  SupervisorBench bench(with_checkpoints(100));
  bench.train();
  for (int step = 0; step < 5; ++step) bench.step();
  EXPECT_EQ(bench.core.view().committed_steps(), 5U);
  EXPECT_EQ(events(bench, RunEventKind::kCheckpointDelayed), 1U);
  EXPECT_TRUE(bench.last_commit().checkpoint_by.empty());
  bench.join(8, ProcessRole::kStorage);
  bench.step();
  EXPECT_FALSE(bench.last_commit().checkpoint_by.empty());
}

// Or shards would pile up in storage's mailbox, faster than the disk takes them.
TEST(Recovery, AFewCheckpointsAreUnderWayAndTheNextIsOwed) {
  SupervisorConfig config = with_checkpoints(100);
  config.checkpoint_every = 1;
  SupervisorBench bench(config);
  bench.join(8, ProcessRole::kStorage);
  bench.train();
  for (std::size_t order = 0; order < CheckpointTracker::kUnsavedMax; ++order) {
    bench.step();
    EXPECT_FALSE(bench.last_commit().checkpoint_by.empty());
  }
  for (int step = 0; step < 3; ++step) {
    bench.step();
    EXPECT_TRUE(bench.last_commit().checkpoint_by.empty());
  }
  EXPECT_EQ(bench.core.view().committed_steps(), CheckpointTracker::kUnsavedMax + 3) << "training does not wait";
  EXPECT_EQ(events(bench, RunEventKind::kCheckpointDelayed), 1U);
  bench.saved(1);
  bench.step();
  EXPECT_FALSE(bench.last_commit().checkpoint_by.empty());
  bench.step();
  EXPECT_TRUE(bench.last_commit().checkpoint_by.empty());
  bench.hear(CheckpointFailed{{}, 3, "disk full"});
  bench.step();
  EXPECT_FALSE(bench.last_commit().checkpoint_by.empty());
}

TEST(Recovery, ADelayedCheckpointIsPaidBeforeTheNextIsDue) {
  SupervisorBench bench(with_checkpoints(100));
  bench.join(8, ProcessRole::kStorage);
  bench.train();
  while (events(bench, RunEventKind::kCheckpointDelayed) == 0) bench.step();
  EXPECT_TRUE(bench.last_commit().checkpoint_by.empty());
  bench.saved(2);
  bench.step();
  EXPECT_EQ(bench.core.view().committed_steps() % 2, 1U) << "checkpoints are due after even steps";
  EXPECT_FALSE(bench.last_commit().checkpoint_by.empty());
}

TEST(Recovery, TheLastCheckpointIsAskedForFromWhoeverHoldsIt) {
  SupervisorBench bench(with_checkpoints(2));
  train_to_the_end(bench);
  const Incarnation saver = bench.last_commit().checkpoint_by[0];
  bench.lose(bench.core.view().members().process_of(saver));
  bench.later(seconds(2));
  const auto asked = bench.all<SaveState>();
  ASSERT_EQ(asked.size(), 2U);
  EXPECT_EQ(asked[0].step, 2U);
  EXPECT_NE(asked[0].replica, saver);
  EXPECT_EQ(bench.core.phase(), Phase::kTraining);
  bench.saved(2);
  EXPECT_EQ(bench.exit_status(), 0);
}

TEST(Recovery, TheLastCheckpointWaitsForStorageToComeBack) {
  SupervisorBench bench(with_checkpoints(2));
  bench.join(8, ProcessRole::kStorage);
  bench.train();
  bench.step();
  bench.lose(ProcessIncarnation{1});
  bench.step();
  bench.evaluated();
  bench.beat({bench.process_of(0, 0), bench.process_of(0, 1), bench.process_of(1, 0), bench.process_of(1, 1)}, 30);
  EXPECT_TRUE(bench.all<SaveState>().empty());
  bench.join(9, ProcessRole::kStorage);
  bench.later(milliseconds(100));
  EXPECT_EQ(bench.all<SaveState>().size(), 2U);
  bench.saved(2);
  EXPECT_EQ(bench.exit_status(), 0);
}

// All replicas and storage are alive, seconds pass, and this is heard every time.
template <class Message>
void pass(SupervisorBench& bench, int count, const std::function<Message(std::uint64_t)>& heard) {
  std::vector<ProcessIncarnation> alive;
  for (const Welcome& welcome : bench.all<Welcome>()) alive.push_back(welcome.process);
  for (int second = 1; second <= count; ++second) {
    bench.hear(heard(static_cast<std::uint64_t>(second)));
    bench.beat(alive, 1);
  }
}

TEST(Recovery, AJoinerWhoseStateComesIsNotGivenUp) {
  for (const bool comes : {true, false}) {
    SupervisorBench bench(long_run());
    const SpawnStage order = replace_one(bench);
    pass<StateProgress>(bench, 700, [&](std::uint64_t second) {
      return StateProgress{{}, 0, order.stage, order.replica, order.donor, false, comes ? second : 1, 1000};
    });
    EXPECT_EQ(events(bench, RunEventKind::kJoinGivenUp), comes ? 0U : 1U);
    say_ready(bench, order, 0);
    EXPECT_EQ(bench.core.view().contains(order.replica), comes);
  }
}

TEST(Recovery, ACheckpointThatComesIsWaitedFor) {
  for (const bool comes : {true, false}) {
    SupervisorBench bench(with_checkpoints(100));
    bench.join(8, ProcessRole::kStorage);
    bench.train();
    bench.step();
    bench.step();
    const Incarnation saver = bench.last_commit().checkpoint_by[1];
    pass<StateProgress>(bench, 90, [&](std::uint64_t second) {
      return StateProgress{{}, 2, StageId{1}, saver, {}, true, comes ? second : 1, 1000};
    });
    EXPECT_EQ(events(bench, RunEventKind::kCheckpointRepeated), comes ? 0U : 1U);
  }
}

// Everybody was stopped with the supervisor: nothing is lost for that.
TEST(Recovery, APauseOfItsOwnCostsTheSupervisorNoCheckpoint) {
  SupervisorBench bench(with_checkpoints(2));
  train_to_the_end(bench);
  bench.later(minutes(60));
  EXPECT_EQ(events(bench, RunEventKind::kCheckpointRepeated), 0U);
  EXPECT_EQ(bench.core.phase(), Phase::kTraining);
  bench.saved(2);
  EXPECT_EQ(bench.exit_status(), 0);
}

// However long all of it takes.
TEST(Recovery, TheCompleteEvaluationIsWaitedForWhileItComesFurther) {
  for (const bool comes : {true, false}) {
    SupervisorConfig config = with_checkpoints(2);
    config.evaluate_within = minutes(1);
    SupervisorBench bench(config);
    bench.join(8, ProcessRole::kStorage);
    bench.train();
    bench.step();
    bench.step();
    bench.saved(2);
    for (std::uint64_t told = 1; told <= 6; ++told) {
      bench.hear(EvaluationResult{{}, 2, 1, comes ? told : 1, 1, false});
      bench.beat(30);
    }
    EXPECT_EQ(events(bench, RunEventKind::kEvaluationGivenUp), comes ? 0U : 1U);
    EXPECT_EQ(bench.core.phase() == Phase::kTraining, comes);
    bench.evaluated();
    EXPECT_EQ(bench.exit_status(), 0);
  }
}

// All wait for it; a spare may do better.
TEST(Recovery, AReplicaThatDoesNotStartLosesItsPlaceToASpare) {
  SupervisorBench bench(long_run());
  for (std::uint64_t number = 1; number <= 5; ++number) bench.join(number);
  ASSERT_EQ(bench.core.phase(), Phase::kSpawning);
  const auto orders = bench.all<SpawnStage>();
  ASSERT_EQ(orders.size(), 4U);
  for (std::size_t index = 1; index < 4; ++index) {
    bench.hear(StageReady{orders[index].stage, orders[index].replica, {}, 0, 5});
  }
  std::vector<ProcessIncarnation> all;
  for (const Welcome& welcome : bench.all<Welcome>()) all.push_back(welcome.process);
  bench.sent.clear();
  bench.beat(all, 601);
  ASSERT_EQ(bench.all<EndStage>().size(), 1U);
  EXPECT_EQ(bench.all<EndStage>()[0].replica, orders[0].replica);
  const auto is_order = [](const Letter& letter) { return std::holds_alternative<SpawnStage>(letter.body); };
  const auto order = std::ranges::find_if(bench.sent, is_order);
  ASSERT_NE(order, bench.sent.end());
  EXPECT_EQ(order->to, to_node_agent(all.back())) << "not the silent one again";
  bench.ready();
  EXPECT_EQ(bench.core.phase(), Phase::kTraining);
}

TEST(Recovery, AShardThatIsLostWithItsLinkIsAskedForAgainAtOnce) {
  SupervisorBench bench(with_checkpoints(2));
  train_to_the_end(bench);
  const auto savers = bench.last_commit().checkpoint_by;
  bench.hear(StateProgress{{}, 2, StageId{0}, savers[0], {}, true, 500, 1000});
  bench.hear(StateUnavailable{savers[0], 2, "its link broke", savers[0]});
  bench.hear(StateUnavailable{savers[1], 1, "its link broke", savers[1]});
  bench.later(seconds(2));
  EXPECT_TRUE(bench.all<SaveState>().empty()) << "one is at storage, the other is of an older checkpoint";
  bench.hear(StateUnavailable{savers[1], 2, "its link broke", savers[1]});
  bench.later(seconds(2));
  const auto asked = bench.all<SaveState>();
  ASSERT_EQ(asked.size(), 1U);
  EXPECT_EQ(asked[0].stage, StageId{1});
}

// Only the last thousand of the lost are remembered, and the one that is lost now may be the oldest of them.
TEST(Recovery, WhoIsLostIsNamedHoweverManyWereLostBefore) {
  SupervisorBench bench(with_checkpoints(2));
  bench.join(99, ProcessRole::kStorage);
  const ProcessIncarnation storage = bench.all<Welcome>().back().process;
  for (std::uint64_t node = 100; node < 1100; ++node) {
    bench.join(node);
    bench.lose(bench.all<Welcome>().back().process);
  }
  const auto is_name = [](const RunEvent& event) { return event.subject == "storage99"; };
  bench.sent.clear();
  bench.lose(storage);
  const auto told = bench.all<RunEvent>();
  ASSERT_EQ(events(bench, RunEventKind::kProcessLost), 1U);
  EXPECT_TRUE(std::ranges::any_of(told, is_name)) << told.back().subject;
}

TEST(Recovery, ALastCheckpointWithoutStorageEndsTheRunWith3InTheEnd) {
  SupervisorBench bench(with_checkpoints(1));
  bench.train();
  bench.step();
  bench.evaluated();
  for (int second = 0; second < 130 && bench.core.phase() == Phase::kTraining; ++second) {
    for (std::uint32_t stage = 0; stage < 2; ++stage) {
      for (std::size_t slot = 0; slot < 2; ++slot) bench.hear(Heartbeat{bench.process_of(stage, slot), 1, 0, {}});
    }
    bench.later(seconds(1));
  }
  EXPECT_EQ(bench.exit_status(), 3);
}

}  // namespace
}  // namespace shoal::supervisor_recovery_test
