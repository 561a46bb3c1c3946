// SupervisorCore with a journal that only lasts as long as the test: start, commits, losses and every way to end.
#include "runtime/cluster/supervisor/supervisor.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/base/restart_policy.h"
#include "tests/support/supervisor_bench.h"

namespace shoal::supervisor_test {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;
using Phase = SupervisorCore::Phase;

using Bench = SupervisorBench;

TEST(Supervisor, SaysWhomItWaitsFor) {
  Bench bench;
  EXPECT_EQ(bench.core.explain_waiting(bench.now), "waiting for 2 nodes for stage 0 and 2 nodes for stage 1");
  for (const std::uint64_t number : {1, 2, 3}) bench.join(number);
  bench.now += minutes(3);
  EXPECT_EQ(bench.core.explain_waiting(bench.now), "waiting for 1 node for stage 1, since 3 min");
}

TEST(Supervisor, SaysWhomItWaitsForWhenOneLeavesWhileReplicasStart) {
  Bench bench;
  for (const std::uint64_t number : {1, 2, 3, 4}) bench.join(number);
  EXPECT_EQ(bench.core.explain_waiting(bench.now), "starting replicas: 0 of 4 are ready");
  bench.lose(ProcessIncarnation{bench.core.view().position().value + 2});  // the second to join
  EXPECT_EQ(bench.core.explain_waiting(bench.now),
            "starting replicas: 0 of 4 are ready; waiting for 1 node for stage 1; node2 was lost: killed");
  bench.join(7);
  EXPECT_EQ(bench.core.explain_waiting(bench.now), "starting replicas: 0 of 4 are ready");
}

TEST(Supervisor, AdmitsReplicasTogetherWhenAllAreReady) {
  Bench bench;
  for (std::uint64_t number = 1; number <= 4; ++number) bench.join(number);
  const auto orders = bench.all<SpawnStage>();
  ASSERT_EQ(orders.size(), 4U);
  for (std::size_t index = 0; index < 3; ++index)
    bench.hear(StageReady{orders[index].stage, orders[index].replica, {}, 0, 5});
  EXPECT_TRUE(bench.entries.empty());
  bench.hear(StageReady{orders[3].stage, orders[3].replica, {}, 0, 5});
  EXPECT_EQ(bench.entries.size(), 6U);  // four replicas, two groups
  EXPECT_EQ(bench.loaders, 1);
  EXPECT_EQ(bench.core.phase(), Phase::kTraining);
}

TEST(Supervisor, ReplicasThatStartDifferentlyAreNotTrained) {  // S-3
  Bench bench;
  for (std::uint64_t number = 1; number <= 4; ++number) bench.join(number);
  std::uint64_t digest = 0;
  for (const SpawnStage& order : bench.all<SpawnStage>())
    bench.hear(StageReady{order.stage, order.replica, {}, 0, ++digest});
  EXPECT_TRUE(bench.entries.empty());
  EXPECT_EQ(bench.exit_status(), kGivenUpStatus);
}

TEST(Supervisor, ALateSpareTakesTheSlotOfAWorkerLostBeforeItServed) {
  Bench bench;
  for (std::uint64_t number = 1; number <= 4; ++number) bench.join(number);
  const ProcessIncarnation victim{bench.core.view().position().value + 2};  // the second to join
  bench.lose(victim);
  bench.join(7);
  bench.ready();
  EXPECT_EQ(bench.core.phase(), Phase::kTraining);
  EXPECT_EQ(bench.core.view().replica_count(), 4U);
}

TEST(Supervisor, CommitsOnlyOnVotesOfAllStages) {  // P-22
  Bench bench;
  bench.train();
  bench.hear(bench.vote_of(0));
  EXPECT_EQ(bench.core.view().committed_steps(), 0U);
  bench.hear(bench.vote_of(1));
  EXPECT_EQ(bench.core.view().committed_steps(), 1U);
}

TEST(Supervisor, ACommitSaysHowLongItsStepTook) {
  Bench bench;
  bench.now += minutes(5);  // nodes come when they come
  bench.train();
  bench.now += seconds(3);
  bench.step();
  EXPECT_DOUBLE_EQ(bench.last_commit().step_ms, 3000);
  bench.now += std::chrono::milliseconds(250);
  bench.step();
  EXPECT_DOUBLE_EQ(bench.last_commit().step_ms, 250);
}

TEST(Supervisor, AStaleVoteIsRefusedAndCounted) {
  Bench bench;
  bench.train();
  Prepared vote = bench.vote_of(0);
  vote.order.term = Term{0};
  bench.hear(vote);
  vote = bench.vote_of(1);
  vote.position = JournalPosition{1};
  bench.hear(vote);
  EXPECT_EQ(bench.core.votes_refused(), 2U);
  bench.hear(bench.vote_of(0));
  EXPECT_EQ(bench.core.view().committed_steps(), 0U);
}

TEST(Supervisor, NothingLeavesBeforeItsEntryIsDurable) {  // P-2
  Bench bench;
  bench.train();
  bench.is_disk_full = true;
  const std::size_t entries_sent = bench.all<JournalEntries>().size();
  bench.step();
  EXPECT_EQ(bench.core.view().committed_steps(), 0U);
  EXPECT_EQ(bench.all<JournalEntries>().size(), entries_sent);
  EXPECT_EQ(bench.exit_status(), 3);
}

TEST(Supervisor, EveryEntryGoesToEveryProcessAndItsOwnRouter) {
  Bench bench;
  bench.train();
  bench.sent.clear();
  bench.step();
  EXPECT_EQ(bench.all<JournalEntries>().size(), 5U);
}

TEST(Supervisor, ALostReplicaIsRemovedWhileAnotherServes) {  // P-29
  Bench bench;
  bench.train();
  bench.hear(bench.vote_of(1));
  bench.lose(bench.process_of(1, 0));
  EXPECT_EQ(bench.core.view().replicas_of(StageId{1}).size(), 1U);
  bench.hear(bench.vote_of(0));
  EXPECT_EQ(bench.core.view().committed_steps(), 0U);  // the vote of stage 1 is void
  bench.hear(bench.vote_of(1));
  EXPECT_EQ(bench.core.view().committed_steps(), 1U);
}

TEST(Supervisor, WhoJoinsAgainIsANewProcessAndTakesItsOldSlot) {
  Bench bench;
  bench.train();
  const ProcessIncarnation lost = bench.process_of(0, 1);
  bench.lose(lost);
  Join again;
  again.name = "node3";
  again.nonce = 1003;
  bench.hear(again);
  EXPECT_EQ(bench.all<JoinRefused>().size(), 0U);
  EXPECT_NE(bench.all<Welcome>().back().process, lost);
  const SpawnStage order = bench.all<SpawnStage>().back();
  EXPECT_EQ(order.slot, ReplicaId{1});
  EXPECT_EQ(order.donor, bench.core.view().replicas_of(StageId{0})[0].incarnation);
}

TEST(Supervisor, CheckpointsAreDueEveryNthStepAndAtTheEndByTheLowestOfEachStage) {
  SupervisorConfig config = two_by_two();
  config.checkpoint_every = 2;
  Bench bench(config);
  bench.join(99, ProcessRole::kStorage);
  bench.train();
  bench.step();
  EXPECT_TRUE(bench.last_commit().checkpoint_by.empty());
  bench.step();
  const auto& view = bench.core.view();
  const std::vector<Incarnation> lowest{view.replicas_of(StageId{0})[0].incarnation,
                                        view.replicas_of(StageId{1})[0].incarnation};
  EXPECT_EQ(bench.last_commit().checkpoint_by, lowest);
  bench.step();
  EXPECT_EQ(bench.last_commit().checkpoint_by, lowest);
}

TEST(Supervisor, FinishesAfterTheLastCheckpointAndTheCompleteEvaluation) {
  Bench bench;
  bench.train();
  for (int i = 0; i < 3; ++i) bench.step();
  bench.step();
  EXPECT_EQ(bench.core.view().committed_steps(), 3U);  // no step beyond the target
  bench.evaluated();
  bench.later(seconds(1));
  EXPECT_EQ(bench.core.phase(), Phase::kTraining);
  bench.saved(3);
  EXPECT_TRUE(bench.core.view().is_finished());
  EXPECT_EQ(bench.all<EndProcess>().size(), 4U);
  EXPECT_EQ(bench.all<RunEvent>().back().kind, RunEventKind::kFinished);
  EXPECT_EQ(bench.all<RunEvent>().back().subject, "abc");
  bench.join(5);  // a worker that was restarted and comes too late
  EXPECT_EQ(bench.all<JoinRefused>().back().reason, JoinRefusal::kRunIsOver);
  EXPECT_EQ(bench.all<RunEvent>().back().kind, RunEventKind::kFinished);
  EXPECT_EQ(bench.exit_status(), 0);
}

// A run with storage whose nodes have just been told to end.
class EndedRun : public testing::Test {
 protected:
  EndedRun() {
    bench.join(99, ProcessRole::kStorage);
    storage = bench.all<Welcome>().back().process;
    bench.train();
    for (int i = 0; i < 3; ++i) bench.step();
    bench.evaluated();
    bench.saved(3);
  }
  [[nodiscard]] bool is_told(ProcessIncarnation process) const {
    return std::ranges::any_of(bench.sent, [&](const Letter& letter) {
      const auto* order = std::get_if<EndProcess>(&letter.body);
      return order != nullptr && letter.to.process == process && order->storage_waits == (process != storage);
    });
  }

  Bench bench;
  ProcessIncarnation storage;
};

TEST_F(EndedRun, KeepsStorageUntilTheNodesHaveLeft) {
  std::vector<ProcessIncarnation> nodes;
  for (const std::uint32_t stage : {0U, 1U}) {
    for (const std::size_t index : {0U, 1U}) nodes.push_back(bench.process_of(stage, index));
  }
  for (const ProcessIncarnation node : nodes) {
    bench.later(std::chrono::milliseconds(300));
    EXPECT_TRUE(is_told(node));
    EXPECT_FALSE(is_told(storage)) << "a node still writes";
    bench.lose(node);
  }
  bench.later(std::chrono::milliseconds(100));
  EXPECT_TRUE(is_told(storage));
  EXPECT_FALSE(bench.ended);
  bench.lose(storage);
  EXPECT_EQ(bench.exit_status(), 0);
}

TEST_F(EndedRun, KeepsStorageNoLongerForASilentNode) {
  bench.later(std::chrono::milliseconds(2'900));
  EXPECT_FALSE(is_told(storage));
  bench.later(std::chrono::milliseconds(200));
  EXPECT_TRUE(is_told(storage));
}

TEST(Supervisor, AJournalThatRefusesEndsTheRunOnceAndIsAskedForNothingMore) {
  Bench bench;
  bench.train();
  for (const auto& effect : bench.core.journal_failed("disk full", 3, bench.now)) {
    EXPECT_FALSE(std::holds_alternative<ReserveNumbers>(effect));
  }
  EXPECT_EQ(bench.core.phase(), SupervisorCore::Phase::kEnding);
  EXPECT_TRUE(bench.core.journal_failed("disk full", 3, bench.now).empty());
}

// All is trained and saved, but the run's end is an entry like others.
TEST(Supervisor, AnEndThatCannotBeRecordedIsAFailure) {
  for (const bool is_stopped : {false, true}) {
    Bench bench;
    bench.train();
    for (int i = 0; i < 2; ++i) bench.step();
    if (is_stopped) bench.perform(bench.core.stop("SIGTERM", 75, bench.now));
    bench.step();
    bench.evaluated();
    bench.is_disk_full = true;
    bench.saved(3);
    EXPECT_FALSE(bench.has_event(is_stopped ? RunEventKind::kStopped : RunEventKind::kFinished));
    const RunEvent told = bench.all<RunEvent>().back();
    EXPECT_EQ(told.kind, RunEventKind::kFailed);
    EXPECT_NE(told.reason.find("disk full; resume with"), std::string::npos) << told.reason;
    EXPECT_EQ(told.step, 3U);
    const auto orders = bench.all<EndProcess>();
    ASSERT_EQ(orders.size(), 4U);
    for (const EndProcess& order : orders) EXPECT_EQ(order.exit_status, 3U);
    EXPECT_EQ(bench.exit_status(), 3);
  }
}

TEST(Supervisor, AFailureThatCannotBeRecordedStaysThatFailure) {
  SupervisorConfig config = two_by_two();
  config.steps_target = 100;
  Bench bench(config);
  bench.train();
  for (int i = 0; i < 10; ++i) bench.step(true);
  bench.is_disk_full = true;
  bench.saved(10);
  EXPECT_EQ(bench.all<RunEvent>().back().kind, RunEventKind::kFailed);
  EXPECT_EQ(bench.all<EndProcess>().size(), 4U);
  EXPECT_EQ(bench.exit_status(), 5);
  EXPECT_NE(bench.ended->reason.find("disk full"), std::string::npos) << bench.ended->reason;
}

// Words that were said cannot be taken back: the journal may be read once more for whoever asks.
TEST(Supervisor, AJournalThatFailsAfterTheEndWasToldChangesNothing) {
  Bench bench;
  bench.train();
  for (int i = 0; i < 3; ++i) bench.step();
  bench.evaluated();
  bench.saved(3);
  EXPECT_TRUE(bench.core.journal_failed("cannot be read", 3, bench.now).empty());
  EXPECT_EQ(bench.exit_status(), 0);
}

TEST(Supervisor, APoliteStopSavesAfterTheStepAndSkipsTheEvaluation) {
  Bench bench;
  bench.train();
  bench.step();
  bench.perform(bench.core.stop("SIGTERM", 75, bench.now));
  EXPECT_EQ(bench.core.phase(), Phase::kTraining);
  bench.step();
  EXPECT_FALSE(bench.last_commit().checkpoint_by.empty());
  bench.step();
  EXPECT_EQ(bench.core.view().committed_steps(), 2U);
  bench.saved(2);
  EXPECT_EQ(bench.all<RunEvent>().back().kind, RunEventKind::kStopped);
  EXPECT_EQ(bench.exit_status(), 75);
}

TEST(Supervisor, AStopBeforeTrainingEndsAtOnce) {
  Bench bench;
  bench.join(1);
  bench.perform(bench.core.stop("SIGINT", 130, bench.now));
  EXPECT_EQ(bench.exit_status(), 130);
  EXPECT_TRUE(bench.entries.empty());
}

TEST(Supervisor, AFailedCheckpointIsAnEventAndTheLastOneEndsTheRunWith3) {
  SupervisorConfig config = two_by_two();
  config.checkpoint_every = 1;
  Bench bench(config);
  bench.train();
  bench.step();
  bench.hear(CheckpointFailed{{}, 1, "disk full"});
  EXPECT_TRUE(bench.has_event(RunEventKind::kCheckpointFailed));
  EXPECT_EQ(bench.core.phase(), Phase::kTraining);
  bench.step();
  bench.step();
  bench.hear(CheckpointFailed{{}, 3, "disk full"});
  EXPECT_EQ(bench.exit_status(), 3);
}

TEST(Supervisor, TenSkippedStepsInARowEndTheRunWith5) {  // DESIGN.md §4.9
  SupervisorConfig config = two_by_two();
  config.steps_target = 100;
  Bench bench(config);
  bench.train();
  for (int i = 0; i < 9; ++i) bench.step(true);
  bench.step(false);  // one that is applied starts the count again
  for (int i = 0; i < 9; ++i) bench.step(true);
  EXPECT_EQ(bench.core.phase(), Phase::kTraining);
  bench.step(true);
  bench.saved(20);
  EXPECT_EQ(bench.exit_status(), 5);
}

TEST(Supervisor, SilenceIsDeathButAPauseOfItsOwnIsNot) {
  Bench bench;
  bench.train();
  bench.later(minutes(5));  // the supervisor slept itself
  EXPECT_FALSE(bench.has_event(RunEventKind::kProcessLost));
  bench.beat({bench.process_of(0, 0), bench.process_of(1, 0)}, 12);
  EXPECT_EQ(bench.core.view().replica_count(), 2U);
}

TEST(Supervisor, ABrokenLinkIsNoDeathIfTheProcessIsHeardAgain) {
  Bench bench;
  bench.train();
  const std::vector<ProcessIncarnation> all = {bench.process_of(0, 0), bench.process_of(0, 1), bench.process_of(1, 0),
                                               bench.process_of(1, 1)};
  bench.hear(ProcessLost{all[0], "reset"});
  bench.later(seconds(1));
  EXPECT_TRUE(bench.has_event(RunEventKind::kSuspected));
  EXPECT_NE(bench.core.explain_waiting(bench.now).find("is silent for"), std::string::npos);
  bench.beat(all, 5);
  EXPECT_TRUE(bench.has_event(RunEventKind::kTrusted));
  EXPECT_FALSE(bench.has_event(RunEventKind::kProcessLost));
  bench.hear(ProcessLost{all[0], "reset"});
  bench.beat({all[1], all[2], all[3]}, 3);
  EXPECT_TRUE(bench.has_event(RunEventKind::kProcessLost));
  EXPECT_EQ(bench.core.view().replica_count(), 3U);
}

// A process that is ending may listen for a moment longer than its link lives.
TEST(Supervisor, WhoHasNoLinkIsProbedUntilItIsHeardOrGone) {
  Bench bench;
  bench.train();
  const ProcessIncarnation lost = bench.process_of(0, 0);
  const ProcessIncarnation back = bench.process_of(0, 1);
  bench.hear(ProcessLost{lost, "reset"});
  bench.hear(ProcessLost{back, "reset"});
  EXPECT_EQ(bench.probed, (std::vector{lost, back}));
  bench.hear(Heartbeat{back, 1, 0, {}});
  for (int tick = 0; tick < 10; ++tick) bench.later(std::chrono::milliseconds(100));
  EXPECT_EQ(std::ranges::count(bench.probed, lost), 6) << "every fifth of a second";
  EXPECT_EQ(std::ranges::count(bench.probed, back), 1);
  bench.lose(lost);
  for (int tick = 0; tick < 10; ++tick) bench.later(std::chrono::milliseconds(100));
  EXPECT_EQ(std::ranges::count(bench.probed, lost), 6);
}

TEST(Supervisor, TheSuccessorOfAProcessWithoutALinkIsAdmittedAtOnce) {
  Bench bench;
  bench.train();
  const auto admitted = [&bench](std::uint64_t nonce) {
    Join join;
    join.name = "node1";
    join.nonce = nonce;
    bench.hear(join);
    for (const Welcome& welcome : bench.all<Welcome>()) {
      if (welcome.nonce == nonce) return true;
    }
    return false;
  };
  EXPECT_FALSE(admitted(91));
  EXPECT_EQ(bench.all<JoinRefused>().size(), 1U);
  bench.beat({bench.process_of(1, 0), bench.process_of(1, 1)}, 6);
  EXPECT_FALSE(admitted(92)) << "its holder is silent, but not dead";
  EXPECT_EQ(bench.all<JoinRefused>().size(), 1U) << "and may be: so it is not refused";
  bench.hear(ProcessLost{bench.process_of(0, 0), "reset"});
  EXPECT_TRUE(admitted(93));
  EXPECT_TRUE(bench.has_event(RunEventKind::kProcessLost));
}

TEST(Supervisor, OneOfTwoThatDoNotReachEachOtherHasToGo) {
  Bench bench;
  bench.train();
  const ProcessIncarnation old = bench.process_of(0, 0);
  const ProcessIncarnation young = bench.process_of(0, 1);
  for (int second = 0; second < 7; ++second) {
    bench.hear(PeerUnreachable{old, young, 4000});
    bench.beat({old, young, bench.process_of(1, 0), bench.process_of(1, 1)}, 1);
  }
  ASSERT_EQ(bench.core.view().replicas_of(StageId{0}).size(), 1U);
  EXPECT_EQ(bench.process_of(0, 0), old);
  bench.hear(Heartbeat{young, 9, 0, {}});
  EXPECT_FALSE(bench.all<EndProcess>().empty()) << "it is told";
}

TEST(Supervisor, WhoWasGivenUpAsLostIsToldToEnd) {
  Bench bench;
  bench.train();
  const ProcessIncarnation lost = bench.process_of(0, 0);
  bench.lose(lost);
  bench.hear(Heartbeat{lost, 9});
  EXPECT_EQ(bench.all<EndProcess>().size(), 1U);
}

TEST(Supervisor, AGroupThatEndsIsReplacedUnderANewIncarnation) {  // P-21
  Bench bench;
  bench.train();
  const Incarnation old = bench.core.view().members().group_of(StageId{1});
  const Prepared vote = bench.vote_of(1);
  bench.perform(bench.core.group_ended(StageId{1}, old, "bug", bench.now));
  EXPECT_GT(bench.core.view().members().group_of(StageId{1}), old);
  bench.hear(vote);
  bench.hear(bench.vote_of(0));
  EXPECT_EQ(bench.core.view().committed_steps(), 0U);
}

SupervisorConfig waiting_30_s() {
  SupervisorConfig config = two_by_two();
  config.wait_timeout = seconds(30);
  return config;
}

TEST(Supervisor, WaitTimeoutEndsWith4) {
  Bench bench(waiting_30_s());
  bench.join(1);
  bench.watch(seconds(29));
  bench.watch(seconds(2));
  EXPECT_EQ(bench.exit_status(), 4);
}

TEST(Supervisor, WaitTimeoutEndsAStartThatLostANode) {
  Bench bench(waiting_30_s());
  for (std::uint64_t number = 1; number <= 4; ++number) bench.join(number);
  ASSERT_EQ(bench.core.phase(), SupervisorCore::Phase::kSpawning);
  bench.lose(bench.all<Welcome>().back().process);
  bench.watch(seconds(29));
  EXPECT_FALSE(bench.ended);
  bench.watch(seconds(2));
  EXPECT_EQ(bench.exit_status(), 4);
}

// A run that has trained waits for nodes as long as they stay away.
TEST(Supervisor, WaitTimeoutIsOfTheStartThatAPersonMakes) {
  Bench bench(waiting_30_s());
  bench.train();
  bench.step();
  const std::vector<ProcessIncarnation> others = {bench.process_of(0, 0), bench.process_of(0, 1)};
  bench.lose(bench.process_of(1, 0));
  bench.lose(bench.process_of(1, 0));
  bench.later(seconds(6));
  ASSERT_TRUE(bench.has_event(RunEventKind::kRolledBack));
  for (const ProcessIncarnation node : others) bench.lose(node);
  bench.later(minutes(10));
  EXPECT_EQ(bench.core.phase(), SupervisorCore::Phase::kGathering);

  // A keeper tells it to no spawner that it starts again (spawner_ward.h); a person does, whether nodes may come back
  // (`shoal spawner --resume`) or not.
  SupervisorConfig config = waiting_30_s();
  config.term = Term{2};
  for (const auto return_within : {seconds(10), seconds(0)}) {
    config.return_within = return_within;
    Bench resumed(config, bench.entries);
    resumed.watch(seconds(20));
    EXPECT_EQ(resumed.core.phase(), SupervisorCore::Phase::kGathering);
    resumed.watch(seconds(9));
    EXPECT_FALSE(resumed.ended);
    resumed.watch(seconds(2));
    EXPECT_EQ(resumed.exit_status(), 4) << return_within.count() << " s";
  }
}

// Newer than the journal is what one process trained meanwhile.
TEST(Supervisor, ResumesOnTheSameBranchFromTheNewestStepAndOnANewOneFromAnOlderOrNewer) {
  Bench first;
  first.train();
  first.step();
  first.step();
  for (const std::uint64_t version : {2, 1, 5}) {
    SupervisorConfig config = two_by_two();
    config.term = Term{1};
    config.steps_target = 9;
    config.start = {version, version, true, "sha"};
    Bench second(config, first.entries);
    second.next_number = 1000;
    EXPECT_EQ(second.core.view().replica_count(), 0U);
    second.later(minutes(5));
    second.train();
    EXPECT_EQ(second.core.view().branch(), Branch{version == 2 ? 0U : 1U});
    EXPECT_EQ(second.core.view().committed_steps(), version);
    EXPECT_TRUE(second.all<SpawnStage>().at(0).from_checkpoint);
    second.now += seconds(3);
    second.step();
    EXPECT_EQ(second.core.view().committed_steps(), version + 1);
    EXPECT_EQ(second.core.view().optimizer_step(), version + 1);
    EXPECT_DOUBLE_EQ(second.last_commit().step_ms, 3000) << "the start is in no step's time";
    EXPECT_FALSE(second.last_commit().is_partly_timed);
  }
}

// A state that one process trained, or an import, left no journal.
TEST(Supervisor, ARunWithoutAJournalIsResumedLikeAny) {
  EXPECT_FALSE(Bench().has_event(RunEventKind::kResumed)) << "a new run";
  SupervisorConfig config = two_by_two();
  config.start = {2, 2, true, "sha"};
  Bench bench(config);
  const auto events = bench.all<RunEvent>();
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].kind, RunEventKind::kResumed);
  EXPECT_EQ(events[0].subject, "run");
  EXPECT_EQ(events[0].reason, "from step 2, which no journal has, as branch 0");
  EXPECT_EQ(events[0].step, 2U);
  bench.train();
  bench.step();
  EXPECT_EQ(bench.core.view().committed_steps(), 3U);
}

TEST(Supervisor, AFinishedRunResumedEvaluatesAndFinishes) {
  Bench first;
  first.train();
  for (int i = 0; i < 3; ++i) first.step();
  first.saved(3);
  first.evaluated();
  SupervisorConfig config = two_by_two();
  config.start = {3, 3, true, "sha"};
  Bench second(config, first.entries);
  second.train();
  EXPECT_FALSE(second.core.view().is_finished());
  second.evaluated();
  EXPECT_EQ(second.exit_status(), 0);
  EXPECT_EQ(second.ended->reason, "all 3 steps are committed");
}

}  // namespace
}  // namespace shoal::supervisor_test
