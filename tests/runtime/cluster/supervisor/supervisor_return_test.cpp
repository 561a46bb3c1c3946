// A spawner that was started again: whoever comes back keeps its number and its replicas, and the step goes on.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>

#include "tests/support/supervisor_bench.h"

namespace shoal::supervisor_return_test {
namespace {

using std::chrono::seconds;
using Phase = SupervisorCore::Phase;

SupervisorConfig of_term(std::uint64_t term) {
  SupervisorConfig config = two_by_two();
  config.term = Term{term};
  config.steps_target = 9;
  if (term > 1) config.return_within = seconds(10);
  return config;
}

// A spawner that trained two steps and was killed, and the one that its keeper started then.
struct Killed {
  Killed() : first(of_term(1)) {
    first.train();
    first.step();
    first.step();
  }
  [[nodiscard]] std::unique_ptr<SupervisorBench> start_again(SupervisorConfig config = of_term(2)) const {
    auto second = std::make_unique<SupervisorBench>(std::move(config), first.entries);
    second->join(99, ProcessRole::kStorage);
    second->sent.clear();
    return second;
  }
  SupervisorBench first;
};

Join join_of(const SupervisorBench& bench, ProcessIncarnation process) {
  Join join;
  join.name = "node of process " + std::to_string(process.value);
  join.nonce = 100 + process.value;
  join.previous = process;
  const View& view = bench.core.view();
  for (std::uint32_t stage = 0; stage < view.stage_count(); ++stage) {
    for (const ReplicaMember& member : view.replicas_of(StageId{stage})) {
      if (member.process != process) continue;
      join.serves.push_back({StageId{stage}, member.slot, member.incarnation, view.branch(), view.committed_steps()});
    }
  }
  return join;
}

std::vector<ProcessIncarnation> members_of_run(const SupervisorBench& bench) {
  std::vector<ProcessIncarnation> all;
  for (std::uint32_t stage = 0; stage < 2; ++stage) {
    for (const ReplicaMember& member : bench.core.view().replicas_of(StageId{stage})) all.push_back(member.process);
  }
  return all;
}

TEST(SupervisorReturn, GoesOnWithEverybodysStateWhenAllAreBack) {
  const Killed killed;
  auto second = killed.start_again();
  SupervisorBench& bench = *second;
  EXPECT_EQ(bench.core.phase(), Phase::kReturning);
  const auto processes = members_of_run(bench);
  ASSERT_EQ(processes.size(), 4U);
  for (const auto process : processes) {
    EXPECT_EQ(bench.core.phase(), Phase::kReturning);
    EXPECT_TRUE(bench.all<Peers>().empty()) << "whoever is not in it would lose its links";
    bench.hear(join_of(bench, process));
    EXPECT_EQ(bench.all<Welcome>().back().process, process);
  }
  EXPECT_EQ(bench.core.phase(), Phase::kTraining);
  EXPECT_EQ(bench.core.view().branch(), Branch{0});
  EXPECT_EQ(bench.core.view().replica_count(), 4U);
  EXPECT_TRUE(bench.all<EndStage>().empty());
  EXPECT_TRUE(bench.all<SpawnStage>().empty());
  EXPECT_FALSE(bench.not_beyond) << "no checkpoint is looked for";
  EXPECT_EQ(bench.all<Peers>().back().peers.size(), 5U) << "and storage";
  EXPECT_EQ(bench.entries.size(), killed.first.entries.size() + 2) << "two sync groups are appointed";
  bench.step();
  EXPECT_EQ(bench.core.view().committed_steps(), 3U);
}

// The others would talk to it as to the member, which ends when it finds its number taken.
TEST(SupervisorReturn, S7NobodyElseTakesTheNumberOfAMemberThatIsNotBack) {
  const Killed killed;
  SupervisorConfig config = of_term(2);
  config.on_record = killed.first.all<Peers>().back().peers;
  auto second = killed.start_again(config);
  SupervisorBench& bench = *second;
  const auto processes = members_of_run(bench);
  Join evil = join_of(bench, processes[0]);
  evil.name = "evil";
  evil.nonce = 5;
  bench.hear(evil);
  ASSERT_EQ(bench.all<Welcome>().size(), 1U);
  EXPECT_GT(bench.all<Welcome>()[0].process, ProcessIncarnation{1000}) << "it is one of this term";
  for (const Peer& peer : *config.on_record) {
    Join own = join_of(bench, peer.process);
    own.name = peer.name;
    bench.hear(own);
    EXPECT_EQ(bench.all<Welcome>().back().process, peer.process) << peer.name;
  }
  EXPECT_EQ(bench.core.phase(), Phase::kTraining);
  EXPECT_EQ(members_of_run(bench), processes);
  EXPECT_TRUE(bench.all<EndProcess>().empty());
}

TEST(SupervisorReturn, TheFirstStepTookTheTimeSinceTheSpawnerIsThere) {
  const Killed killed;
  auto second = killed.start_again();
  SupervisorBench& bench = *second;
  bench.now += seconds(2);
  for (const auto process : members_of_run(bench)) bench.hear(join_of(bench, process));
  ASSERT_EQ(bench.core.phase(), Phase::kTraining);
  bench.now += seconds(1);
  bench.step();
  EXPECT_DOUBLE_EQ(bench.last_commit().step_ms, 3000);
  EXPECT_TRUE(bench.last_commit().is_partly_timed) << "it began before this spawner";
  bench.step();
  EXPECT_FALSE(bench.last_commit().is_partly_timed);
}

TEST(SupervisorReturn, AStepThatIsBegunAgainIsTimedAsAWhole) {
  const Killed killed;
  auto second = killed.start_again();
  SupervisorBench& bench = *second;
  bench.checkpoint = StartPoint{2, 2, true, "sha"};
  for (std::uint64_t number = 1; number <= 4; ++number) bench.join(number);
  bench.watch(seconds(5));  // none of them was in the run: nobody else is coming back
  bench.ready();
  ASSERT_EQ(bench.core.phase(), Phase::kTraining);
  bench.step();
  EXPECT_EQ(bench.core.view().committed_steps(), 3U);
  EXPECT_DOUBLE_EQ(bench.last_commit().step_ms, 5000) << "with the pause";
  EXPECT_FALSE(bench.last_commit().is_partly_timed);
}

// A child of this process ends again and again: the process ends alone, and its keeper starts the next term.
TEST(SupervisorReturn, AChildThatIsPastItsBudgetEndsThisProcessAndNobodyElse) {
  const std::vector<std::function<SupervisorEffects(SupervisorBench&)>> children = {
      [](SupervisorBench& bench) {
        return bench.core.group_ended(StageId{1}, bench.core.view().members().group_of(StageId{1}), "a bug", bench.now);
      },
      [](SupervisorBench& bench) { return bench.core.data_loader_ended("a bug", bench.now); }};
  for (const auto& child_ends : children) {
    Killed run;
    SupervisorBench& first = run.first;
    for (int end = 0; end < 10; ++end) first.perform(child_ends(first));
    first.later(std::chrono::milliseconds(300));
    EXPECT_FALSE(first.ended) << "within the budget";
    first.perform(child_ends(first));
    EXPECT_FALSE(first.ended) << "its last words are on their way";
    first.later(std::chrono::milliseconds(300));
    ASSERT_TRUE(first.ended);
    EXPECT_EQ(first.ended->exit_status, 1) << "a keeper starts it again after that";
    EXPECT_TRUE(first.has_event(RunEventKind::kEscalated));
    EXPECT_FALSE(first.has_event(RunEventKind::kFailed)) << "the run goes on";
    EXPECT_TRUE(first.all<EndProcess>().empty()) << "the nodes keep what they have";
    EXPECT_FALSE(first.core.view().is_finished());

    auto second = run.start_again();
    for (const auto process : members_of_run(*second)) second->hear(join_of(*second, process));
    EXPECT_EQ(second->core.phase(), Phase::kTraining);
    EXPECT_EQ(second->core.view().branch(), Branch{0});
    second->step();
    EXPECT_EQ(second->core.view().committed_steps(), 3U);
  }
}

TEST(SupervisorReturn, VotesForTheGroupsOfTheDeadSpawnerAreVoid) {  // P-22
  Killed killed;
  const Prepared old[] = {killed.first.vote_of(0), killed.first.vote_of(1)};
  auto second = killed.start_again();
  for (const auto process : members_of_run(*second)) second->hear(join_of(*second, process));
  for (Prepared vote : old) {
    second->hear(vote);
    vote.order.term = Term{2};
    second->hear(vote);
  }
  EXPECT_EQ(second->core.votes_refused(), 4U);
  EXPECT_EQ(second->core.view().committed_steps(), 2U);
}

TEST(SupervisorReturn, WhoDoesNotComeBackIsRemovedWhileAnotherServes) {  // P-29
  const Killed killed;
  auto second = killed.start_again();
  SupervisorBench& bench = *second;
  const auto processes = members_of_run(bench);
  for (std::size_t index = 1; index < 4; ++index) bench.hear(join_of(bench, processes[index]));
  bench.watch(seconds(2));
  EXPECT_EQ(bench.core.phase(), Phase::kReturning);
  bench.watch(seconds(2));
  EXPECT_EQ(bench.core.phase(), Phase::kTraining);
  EXPECT_EQ(bench.core.view().replicas_of(StageId{0}).size(), 1U);
  bench.step();
  EXPECT_EQ(bench.core.view().committed_steps(), 3U);
  bench.hear(join_of(killed.first, processes[0]));  // too late
  EXPECT_EQ(bench.all<Welcome>().back().process, processes[0]) << "it keeps its number, and is a spare";
  EXPECT_EQ(bench.all<EndStage>().size(), 1U);
  EXPECT_EQ(bench.core.view().replica_count(), 3U);
}

// A pause of its own is nobody's silence: the others were stopped with it, or spoke to somebody who did not listen.
TEST(SupervisorReturn, ASpawnerThatStoodStillItselfWaitsOn) {
  const Killed killed;
  auto second = killed.start_again();
  SupervisorBench& bench = *second;
  const auto processes = members_of_run(bench);
  for (std::size_t index = 1; index < 4; ++index) bench.hear(join_of(bench, processes[index]));
  bench.later(seconds(60));
  EXPECT_EQ(bench.core.phase(), Phase::kReturning);
  bench.hear(join_of(bench, processes[0]));
  EXPECT_EQ(bench.core.phase(), Phase::kTraining);
  EXPECT_EQ(bench.core.view().replica_count(), 4U);
}

TEST(SupervisorReturn, AReplicaThatEndedMeanwhileIsRemoved) {
  const Killed killed;
  auto second = killed.start_again();
  SupervisorBench& bench = *second;
  for (const auto process : members_of_run(bench)) {
    Join join = join_of(bench, process);
    if (process == members_of_run(killed.first)[3]) join.serves.clear();
    bench.hear(join);
  }
  EXPECT_EQ(bench.core.phase(), Phase::kTraining);
  EXPECT_EQ(bench.core.view().replicas_of(StageId{1}).size(), 1U);
}

TEST(SupervisorReturn, AReplicaThatNoViewKnowsIsEnded) {
  const Killed killed;
  auto second = killed.start_again();
  Join join = join_of(*second, members_of_run(*second)[0]);
  join.serves.push_back({StageId{1}, ReplicaId{2}, Incarnation{999}, {}, 0});
  second->hear(join);
  ASSERT_EQ(second->all<EndStage>().size(), 1U);
  EXPECT_EQ(second->all<EndStage>()[0].replica, Incarnation{999});
}

TEST(SupervisorReturn, AStageThatNobodyCameBackForRollsAllBack) {
  const Killed killed;
  auto second = killed.start_again();
  SupervisorBench& bench = *second;
  bench.checkpoint = StartPoint{1, 1, true, "sha"};
  const auto processes = members_of_run(bench);
  bench.hear(join_of(bench, processes[0]));
  bench.hear(join_of(bench, processes[1]));
  bench.beat(9);
  EXPECT_EQ(bench.core.phase(), Phase::kReturning);
  bench.beat(2);
  EXPECT_EQ(bench.core.phase(), Phase::kGathering);
  EXPECT_TRUE(bench.has_event(RunEventKind::kRolledBack));
  EXPECT_EQ(bench.core.view().replica_count(), 0U);
  bench.join(7);
  bench.join(8);
  bench.later(seconds(0));
  bench.ready();
  EXPECT_EQ(bench.core.phase(), Phase::kTraining);
  EXPECT_EQ(bench.core.view().branch(), Branch{1});
  EXPECT_EQ(bench.core.view().committed_steps(), 1U);
}

TEST(SupervisorReturn, WorkersThatWereNeverThereEndTheWaiting) {
  const Killed killed;
  auto second = killed.start_again();
  second->checkpoint = StartPoint{2, 2, true, "sha"};
  for (std::uint64_t number = 1; number <= 4; ++number) second->join(number);
  second->watch(seconds(2));
  EXPECT_EQ(second->core.phase(), Phase::kReturning) << "the members may only be slower";
  second->watch(seconds(3));
  EXPECT_EQ(second->core.phase(), Phase::kSpawning);
  second->ready();
  EXPECT_EQ(second->core.view().branch(), Branch{0}) << "a start at the newest step is no roll-back";
}

// The spawner's machine was away for minutes, and new nodes were started meanwhile.
TEST(SupervisorReturn, NewcomersThatAreTheFirstToComeCostTheMembersNothing) {  // P-30
  const Killed killed;
  auto second = killed.start_again();
  second->checkpoint = StartPoint{1, 1, true, "sha"};
  for (std::uint64_t number = 1; number <= 4; ++number) second->join(number);
  for (int tick = 0; tick < 9; ++tick) second->later(std::chrono::milliseconds(100));
  for (const auto process : members_of_run(*second)) second->hear(join_of(*second, process));
  EXPECT_EQ(second->core.phase(), Phase::kTraining);
  EXPECT_EQ(second->core.view().branch(), Branch{0});
  EXPECT_EQ(second->core.view().replica_count(), 4U);
  EXPECT_TRUE(second->all<EndStage>().empty());
  second->step();
  EXPECT_EQ(second->core.view().committed_steps(), 3U);
}

TEST(SupervisorReturn, WhoHasSeenMoreThanTheJournalStartsAgain) {
  const Killed killed;
  auto second = killed.start_again();
  Join join = join_of(*second, members_of_run(*second)[0]);
  join.serves[0].version = 3;
  second->hear(join);
  EXPECT_EQ(second->all<EndProcess>().size(), 1U);
  EXPECT_TRUE(second->all<Welcome>().empty());
}

TEST(SupervisorReturn, AFinishedRunEndsAgainAndTellsWhoeverAsks) {
  SupervisorBench first(of_term(1));
  first.train();
  for (int step = 0; step < 9; ++step) first.step();
  first.saved(9);
  first.evaluated();
  SupervisorConfig config = of_term(2);
  config.start = StartPoint{9, 9, true, "abc"};
  SupervisorBench second(config, first.entries);
  EXPECT_EQ(second.core.phase(), Phase::kEnding);
  EXPECT_EQ(second.all<RunEvent>().back().subject, "abc");
  second.hear(join_of(first, members_of_run(first)[0]));
  EXPECT_EQ(second.all<JoinRefused>().back().reason, JoinRefusal::kRunIsOver);
  EXPECT_EQ(second.exit_status(), 0);
  config.steps_target = 12;
  SupervisorBench third(config, first.entries);
  EXPECT_EQ(third.core.phase(), Phase::kGathering) << "it is to go on";
}

// Killed between the last entry of a run that was stopped and its own end.
TEST(SupervisorReturn, AStoppedRunEndsAgainWhereItWasBeingStopped) {
  SupervisorBench first(of_term(1));
  first.train();
  first.step();
  first.perform(first.core.stop("SIGTERM", 75, first.now));
  first.step();
  first.saved(2);
  EXPECT_EQ(first.exit_status(), 75);
  SupervisorConfig config = of_term(2);
  config.start = StartPoint{2, 2, true, "abc"};
  SupervisorBench resumed(config, first.entries);
  EXPECT_EQ(resumed.core.phase(), Phase::kGathering) << "nobody stops it: it is to go on";
  config.stopping = StopOrder{"SIGTERM", RunEventKind::kStopped, 75};
  SupervisorBench second(config, first.entries);
  EXPECT_EQ(second.core.phase(), Phase::kEnding);
  EXPECT_EQ(second.entries.size(), first.entries.size()) << "nothing happens again";
  EXPECT_EQ(second.all<RunEvent>().size(), 1U);
  EXPECT_EQ(second.all<RunEvent>().back().kind, RunEventKind::kStopped);
  EXPECT_EQ(second.all<RunEvent>().back().step, 2U);
  EXPECT_EQ(second.exit_status(), 75);
}

// The last commit was journaled, its checkpoint or the evaluation was not done.
TEST(SupervisorReturn, TheEndOfARunIsTakenUpWhereItWas) {
  SupervisorBench first(of_term(1));
  first.train();
  for (int step = 0; step < 9; ++step) first.step();
  SupervisorBench second(of_term(2), first.entries);
  for (const auto process : members_of_run(second)) second.hear(join_of(second, process));
  EXPECT_EQ(second.core.phase(), Phase::kReturning);
  second.join(99, ProcessRole::kStorage);
  second.later(seconds(0));
  EXPECT_EQ(second.core.phase(), Phase::kTraining);
  second.evaluated();
  second.later(seconds(1));
  EXPECT_EQ(second.core.phase(), Phase::kTraining);
  second.saved(9);
  EXPECT_EQ(second.exit_status(), 0);
  SupervisorConfig saved_before = of_term(2);
  saved_before.start = StartPoint{9, 9, true, "abc"};
  SupervisorBench third(saved_before, first.entries);
  third.join(99, ProcessRole::kStorage);
  for (const auto process : members_of_run(third)) third.hear(join_of(third, process));
  third.evaluated();
  EXPECT_EQ(third.exit_status(), 0);
}

TEST(SupervisorReturn, ASignalMeanwhileSavesWhatTheMembersHold) {
  const Killed killed;
  auto second = killed.start_again();
  second->perform(second->core.stop("SIGTERM", 75, second->now));
  EXPECT_EQ(second->core.phase(), Phase::kReturning);
  for (const auto process : members_of_run(*second)) second->hear(join_of(*second, process));
  second->step();
  EXPECT_FALSE(second->last_commit().checkpoint_by.empty());
  second->saved(3);
  EXPECT_EQ(second->exit_status(), 75);
}

TEST(SupervisorReturn, ASignalEndsTheRunWhenNobodyCameBack) {
  const Killed killed;
  auto second = killed.start_again();
  second->perform(second->core.stop("SIGTERM", 75, second->now));
  second->watch(seconds(11));
  EXPECT_EQ(second->exit_status(), 75);
}

// fault 17 at the very end: who was to save the last step, or the disk, was lost with the spawner.
TEST(SupervisorReturn, TheLastCheckpointIsAskedForAgain) {
  SupervisorBench first(of_term(1));
  first.train();
  for (int step = 0; step < 9; ++step) first.step();
  SupervisorBench second(of_term(2), first.entries);
  second.join(99, ProcessRole::kStorage);
  const auto processes = members_of_run(second);
  for (std::size_t index = 1; index < 4; ++index) second.hear(join_of(second, processes[index]));
  second.beat(5);  // the first has not come back
  const auto asked = second.all<SaveState>();
  ASSERT_EQ(asked.size(), 2U);
  EXPECT_EQ(asked[0].step, 9U);
  EXPECT_EQ(asked[0].replica, second.core.view().replicas_of(StageId{0})[0].incarnation);
  second.beat(5);
  second.saved(9);
  second.evaluated();
  EXPECT_EQ(second.exit_status(), 0);
}

TEST(SupervisorReturn, WhoLeavesMeanwhileIsHeardAfterwards) {
  const Killed killed;
  auto second = killed.start_again();
  const auto processes = members_of_run(*second);
  second->hear(join_of(*second, processes[0]));
  second->hear(Leaving{processes[0], "SIGTERM"});
  EXPECT_TRUE(second->all<EndProcess>().empty());
  for (std::size_t index = 1; index < 4; ++index) second->hear(join_of(*second, processes[index]));
  second->hear(Leaving{processes[0], "SIGTERM"});
  second->step();
  EXPECT_EQ(second->all<EndProcess>().size(), 1U);
  EXPECT_EQ(second->core.view().replicas_of(StageId{0}).size(), 1U);
}

TEST(SupervisorReturn, WhoWasGivenUpInThisTermStartsAgain) {
  const Killed killed;
  auto second = killed.start_again();
  const auto processes = members_of_run(*second);
  const Join join = join_of(*second, processes[0]);
  for (const auto process : processes) second->hear(join_of(*second, process));
  second->lose(processes[0]);
  second->hear(join);
  EXPECT_EQ(second->all<EndProcess>().size(), 1U);
}

// Nobody knows yet who is the last of a stage; so the wish is kept until that is known.
TEST(SupervisorReturn, WhoIsDrainedMeanwhileLeavesAfterTheNextStep) {
  const Killed killed;
  for (const bool says_it_itself : {false, true}) {
    auto second = killed.start_again();
    const auto processes = members_of_run(*second);
    const ReplicaMember leaver = second->core.view().replicas_of(StageId{0})[0];
    second->hear(join_of(*second, leaver.process));
    if (says_it_itself) {
      second->hear(Leaving{leaver.process, "SIGTERM"});
    } else {
      const OperatorOrder order{OperatorVerb::kDrain, "stage/0/0", {}, 0, "shoal drain"};
      OperatorOutcome outcome = second->core.operate(order, second->now);
      second->perform(std::move(outcome.effects));
      EXPECT_EQ(outcome.answer.verdict, OperatorVerdict::kDone);
      EXPECT_NE(outcome.answer.text.find("leaves after step 2"), std::string::npos) << outcome.answer.text;
    }
    EXPECT_TRUE(second->all<EndProcess>().empty()) << "its state may be the only one of its stage";
    for (const auto process : processes) second->hear(join_of(*second, process));
    ASSERT_EQ(second->core.phase(), Phase::kTraining);
    EXPECT_EQ(second->avoided, std::vector<Incarnation>{leaver.incarnation}) << "the new data loader is told";
    EXPECT_TRUE(second->all<EndProcess>().empty());
    second->step();
    ASSERT_EQ(second->all<EndProcess>().size(), 1U);
    EXPECT_EQ(second->all<EndProcess>()[0].exit_status, 0U);
    EXPECT_EQ(second->core.view().replicas_of(StageId{0}).size(), 1U);
  }
}

// The node repeats what it was told (NodeCore.SaysToEverySpawnerThatAPersonDrainedIt).
TEST(SupervisorReturn, WhoWasDrainedBeforeLeavesAfterTheNextStep) {  // P-28a
  Killed killed;
  const ReplicaMember leaver = killed.first.core.view().replicas_of(StageId{0})[0];
  OperatorOutcome outcome =
      killed.first.core.operate({OperatorVerb::kDrain, "stage/0/0", {}, 0, "shoal drain"}, killed.first.now);
  killed.first.perform(std::move(outcome.effects));
  const auto is_told = [&](const Letter& letter) {
    return std::holds_alternative<LeaveRun>(letter.body) && letter.to == to_node_agent(leaver.process);
  };
  EXPECT_EQ(std::ranges::count_if(killed.first.sent, is_told), 1);

  auto second = killed.start_again();
  for (const auto process : members_of_run(*second)) second->hear(join_of(*second, process));
  ASSERT_EQ(second->core.phase(), Phase::kTraining);
  second->hear(Leaving{leaver.process, "shoal drain"});
  EXPECT_TRUE(second->all<EndProcess>().empty());
  EXPECT_TRUE(second->all<LeaveRun>().empty()) << "it knows";
  second->step();
  ASSERT_EQ(second->all<EndProcess>().size(), 1U);
  EXPECT_EQ(second->all<EndProcess>()[0].exit_status, 0U);
  EXPECT_FALSE(second->core.view().contains(leaver.incarnation));
}

TEST(SupervisorReturn, ASpareIsDrainedAtOnceMeanwhile) {
  const Killed killed;
  auto second = killed.start_again();
  second->join(77);
  OperatorOutcome outcome = second->core.operate({OperatorVerb::kDrain, "node77", {}, 0, "shoal drain"}, second->now);
  second->perform(std::move(outcome.effects));
  EXPECT_EQ(second->all<EndProcess>().size(), 1U);
}

TEST(SupervisorReturn, SaysWhomItWaitsFor) {
  const Killed killed;
  auto second = killed.start_again();
  second->hear(join_of(*second, members_of_run(*second)[0]));
  EXPECT_EQ(second->core.explain_waiting(second->now),
            "the spawner was started again: waiting for 3 replicas to come back");
}

}  // namespace
}  // namespace shoal::supervisor_return_test
