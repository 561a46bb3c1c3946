// A stage that lost its last replica: all stages go back to a checkpoint together, on a new branch, in place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "runtime/base/compose.h"
#include "runtime/base/machine/memory_lack.h"
#include "runtime/base/restart_policy.h"
#include "tests/support/supervisor_bench.h"

namespace shoal::supervisor_rollback_test {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;
using testing::StartsWith;
using Phase = SupervisorCore::Phase;

struct Trained : SupervisorBench {
  explicit Trained(SupervisorConfig config = long_run()) : SupervisorBench(std::move(config)) {
    train();
    for (int i = 0; i < 3; ++i) step();
    checkpoint = StartPoint{2, 2, true, "sha"};
    answered_ = sent.size();
  }
  static SupervisorConfig long_run() {
    SupervisorConfig config = two_by_two();
    config.steps_target = 9;
    return config;
  }
  void lose_stage(std::uint32_t stage) {
    while (core.phase() == Phase::kTraining) lose(process_of(stage, 0));
  }
  // Two workers join in the place of those that stage 1 lost, so that all replicas start again.
  void start_again() {
    lose_stage(1);
    for (const std::uint64_t number : {7, 8}) join(number);
    later(seconds(0));
    ASSERT_EQ(core.phase(), Phase::kSpawning);
  }
  enum class Answer { kReady, kEnds, kNothing };
  using Answers = std::function<Answer(const SpawnStage& order, ProcessIncarnation process)>;
  // Answers for all that were asked for since the last time.
  void answer(const Answers& answers) {
    for (; answered_ < sent.size(); ++answered_) {
      const Letter letter = sent[answered_];
      const auto* order = std::get_if<SpawnStage>(&letter.body);
      if (order == nullptr) continue;
      const Answer one = answers(*order, letter.to.process);
      if (one == Answer::kReady) hear(StageReady{order->stage, order->replica, {}, order->version, 5});
      if (one == Answer::kEnds) hear(StageEnded{order->stage, order->replica, "no memory", {}});
    }
  }
  void ready_again() {
    answer([](const SpawnStage&, ProcessIncarnation) { return Answer::kReady; });
  }
  static Answers all_but(ProcessIncarnation bad) {
    return [bad](const SpawnStage&, ProcessIncarnation process) {
      return process == bad ? Answer::kEnds : Answer::kReady;
    };
  }
  // All that are alive are heard of, and answer, until it trains, or for so many seconds.
  void pass(int count, const Answers& answers) {
    for (int second = 0; second < count && core.phase() < Phase::kTraining; ++second) {
      answer(answers);
      beat(1);
    }
  }
  std::vector<std::uint64_t> steps_told_of(RunEventKind kind) const {
    std::vector<std::uint64_t> steps;
    for (const RunEvent& one : all<RunEvent>()) {
      if (one.kind == kind) steps.push_back(one.step);
    }
    return steps;
  }
  std::size_t count_of(RunEventKind kind) const {
    const auto events = all<RunEvent>();
    return static_cast<std::size_t>(std::ranges::count(events, kind, &RunEvent::kind));
  }

 private:
  std::size_t answered_ = 0;  // letters
};

using Answer = Trained::Answer;

TEST(SupervisorRollback, TheLastReplicaOfAStageSendsAllStagesBack) {  // P-29
  Trained bench;
  bench.lose_stage(1);
  EXPECT_EQ(bench.not_beyond, 3U);
  EXPECT_TRUE(bench.has_event(RunEventKind::kStageLost));
  EXPECT_EQ(bench.steps_told_of(RunEventKind::kRolledBack), std::vector<std::uint64_t>{2}) << "where it goes on";
  EXPECT_EQ(bench.core.view().replica_count(), 0U) << "every member is removed by an entry";
  EXPECT_EQ(bench.core.phase(), Phase::kGathering);
  for (const std::uint64_t number : {7, 8}) bench.join(number);
  bench.later(seconds(0));
  bench.ready_again();
  EXPECT_EQ(bench.core.phase(), Phase::kTraining);
  EXPECT_EQ(bench.core.view().branch(), Branch{1});
  EXPECT_EQ(bench.core.view().committed_steps(), 2U);
  EXPECT_EQ(bench.core.view().replica_count(), 4U);
  EXPECT_EQ(bench.loaders, 2);
  EXPECT_FALSE(bench.ended);
  bench.step();
  EXPECT_EQ(bench.core.view().committed_steps(), 3U);
  EXPECT_EQ(bench.last_commit().optimizer_step, 3U);
}

// The pause was nobody else's: what a roll-back costs can be added up from the times of steps.
// `--branch`: the run goes back because a person wants it, and nothing was survived.
TEST(SupervisorRollback, WhatAPersonBranchesOffIsNone) {
  const Trained first;
  for (const bool is_wanted : {true, false}) {  // the control: a resumed run that lost a step
    SupervisorConfig config = Trained::long_run();
    config.term = Term{2};
    config.start = StartPoint{2, 2, true, "sha", Branch{1}, is_wanted};
    const SupervisorBench second(config, first.entries);
    EXPECT_EQ(second.has_event(RunEventKind::kResumed), is_wanted);
    EXPECT_EQ(second.has_event(RunEventKind::kRolledBack), !is_wanted);
    for (const RunEvent& one : second.all<RunEvent>()) {
      const bool says_where = one.kind == RunEventKind::kResumed || one.kind == RunEventKind::kRolledBack;
      if (says_where) {
        EXPECT_EQ(one.step, 2U) << "where it goes on";
      }
    }
  }
}

TEST(SupervisorRollback, TheFirstStepOfABranchTookAllTheTimeSinceTheLastCommit) {
  Trained bench;
  bench.later(seconds(1));
  bench.lose_stage(1);
  bench.later(seconds(2));
  for (const std::uint64_t number : {7, 8}) bench.join(number);
  bench.ready_again();
  ASSERT_EQ(bench.core.phase(), Phase::kTraining);
  bench.now += seconds(3);
  bench.step();
  EXPECT_EQ(bench.core.view().branch(), Branch{1});
  EXPECT_DOUBLE_EQ(bench.last_commit().step_ms, 6000);
}

TEST(SupervisorRollback, AStepThatCanStillCommitIsSettledFirst) {
  Trained bench;
  bench.lose(bench.process_of(1, 0));
  bench.hear(bench.vote_of(1));
  bench.lose(bench.process_of(1, 0));
  EXPECT_EQ(bench.core.phase(), Phase::kTraining);
  EXPECT_FALSE(bench.not_beyond);
  bench.hear(bench.vote_of(0));
  EXPECT_EQ(bench.not_beyond, 4U) << "the step is committed before";
  EXPECT_EQ(bench.core.phase(), Phase::kGathering);
}

TEST(SupervisorRollback, WithoutACheckpointAllBeginAgain) {
  Trained bench;
  bench.checkpoint = StartPoint{};
  bench.lose_stage(0);
  for (const std::uint64_t number : {7, 8}) bench.join(number);
  bench.later(seconds(0));
  EXPECT_FALSE(bench.all<SpawnStage>().back().from_checkpoint);
  bench.ready_again();
  EXPECT_EQ(bench.core.view().branch(), Branch{1});
  EXPECT_EQ(bench.core.view().committed_steps(), 0U);
}

TEST(SupervisorRollback, ANewBranchBeginsAlsoAtTheNewestStep) {
  Trained bench;
  bench.checkpoint = StartPoint{3, 3, true, "sha"};
  bench.lose_stage(0);
  for (const std::uint64_t number : {7, 8}) bench.join(number);
  bench.later(seconds(0));
  bench.ready_again();
  EXPECT_EQ(bench.core.view().branch(), Branch{1});
}

TEST(SupervisorRollback, WhenNoCheckpointIsGoodTheRunEndsWith3) {
  Trained bench;
  bench.checkpoint.reset();
  bench.lose_stage(0);
  EXPECT_EQ(bench.exit_status(), 3);
}

// One that came to its end on the dead branch pushed out the chosen one (checkpoint.keep).
TEST(SupervisorRollback, FromACheckpointThatIsGoneItGoesBackToAnother) {
  Trained bench;
  bench.start_again();
  ASSERT_EQ(bench.all<SpawnStage>().back().version, 2U);
  bench.checkpoint = StartPoint{3, 3, true, "newer"};
  bench.pass(2, [](const SpawnStage& order, ProcessIncarnation) {
    return order.version == 2 ? Answer::kEnds : Answer::kReady;
  });
  EXPECT_EQ(bench.not_beyond, 3U) << "nor to a later one that no step of this branch led to";
  EXPECT_EQ(bench.core.phase(), Phase::kTraining);
  EXPECT_EQ(bench.core.view().branch(), Branch{1});
  EXPECT_EQ(bench.core.view().committed_steps(), 3U);
  EXPECT_EQ(bench.core.view().replica_count(), 4U);
}

// All failed at once, and what they start from is whole: storage could not read it then, or a device was not free yet.
TEST(SupervisorRollback, WhatKeptAllFromStartingIsWaitedForAFewTimes) {
  for (const bool is_passing : {true, false}) {
    Trained bench;
    bench.start_again();
    const Instant begun = bench.now;
    bench.pass(30, [&](const SpawnStage&, ProcessIncarnation) {
      return is_passing && bench.now - begun >= seconds(2) ? Answer::kReady : Answer::kEnds;
    });
    EXPECT_EQ(bench.count_of(RunEventKind::kStartRepeated), is_passing ? 1U : 2U);
    EXPECT_EQ(bench.core.phase() == Phase::kTraining, is_passing);
    if (is_passing) {
      EXPECT_EQ(bench.core.view().replica_count(), 4U);
    } else {
      EXPECT_EQ(bench.exit_status(), 3);
      EXPECT_NE(bench.ended->reason.find("no memory"), std::string::npos);
      EXPECT_GE(bench.now - begun, seconds(6)) << "with pauses";
    }
  }
}

// A disk that refuses for a moment costs neither the run nor the steps since the checkpoint before.
TEST(SupervisorRollback, ACheckpointThatCannotBeReadIsLookedForAgain) {
  Trained bench;
  bench.is_unreadable = true;
  bench.lose_stage(1);
  for (const std::uint64_t number : {7, 8}) bench.join(number);
  bench.beat(5);
  EXPECT_EQ(bench.core.phase(), Phase::kRollingBack);
  EXPECT_EQ(bench.looks.size(), 3U) << "at once, after a second, after two more";
  EXPECT_EQ(bench.count_of(RunEventKind::kCheckpointUnreadable), 3U);
  EXPECT_EQ(bench.core.explain_waiting(bench.now),
            "rolling back: looking for a checkpoint again: I/O error, since 5 s");
  bench.is_unreadable = false;
  bench.beat(5);
  bench.ready_again();
  EXPECT_EQ(bench.core.phase(), Phase::kTraining);
  EXPECT_EQ(bench.core.view().committed_steps(), 2U);
}

TEST(SupervisorRollback, WhatCannotBeReadForLongIsPassedOver) {
  for (const bool is_there_another : {true, false}) {
    Trained bench;
    bench.is_unreadable = true;
    if (is_there_another) bench.older = StartPoint{1, 1, true, "older"};
    bench.lose_stage(1);
    for (const std::uint64_t number : {7, 8}) bench.join(number);
    bench.beat(119);
    EXPECT_EQ(bench.core.phase(), Phase::kRollingBack);
    EXPECT_LE(bench.looks.size(), 10U);
    bench.beat(35);
    bench.ready_again();
    EXPECT_EQ(bench.core.phase() == Phase::kTraining, is_there_another);
    if (is_there_another) {
      EXPECT_EQ(bench.core.view().committed_steps(), 1U);
    } else {
      EXPECT_EQ(bench.exit_status(), 3);
    }
  }
}

// One worker that cannot start a replica says nothing of the others.
TEST(SupervisorRollback, WhereOneWorkerCannotStartAReplicaASpareDoes) {
  Trained bench;
  const ProcessIncarnation bad = bench.process_of(0, 0);
  bench.start_again();
  bench.join(9);
  bench.answer(Trained::all_but(bad));
  EXPECT_EQ(bench.core.phase(), Phase::kTraining);
  EXPECT_EQ(bench.core.view().replica_count(), 4U);
  EXPECT_EQ(bench.count_of(RunEventKind::kStartFailed), 1U) << "the spare is asked at once";
}

// Its keeper starts the process again, and the others do not wait for that.
TEST(SupervisorRollback, WithoutASpareTheOthersTrainWithoutTheWorkerThatCannotStart) {
  Trained bench;
  const ProcessIncarnation bad = bench.process_of(0, 0);
  bench.start_again();
  bench.pass(12, Trained::all_but(bad));
  EXPECT_EQ(bench.core.phase(), Phase::kTraining);
  EXPECT_EQ(bench.core.view().replica_count(), 3U);
  EXPECT_EQ(bench.count_of(RunEventKind::kRestartBudgetSpent), 1U);
  EXPECT_EQ(bench.count_of(RunEventKind::kStartFailed), 4U) << "with pauses";
}

// Both workers of a stage are lost while all start, and nobody is free.
TEST(SupervisorRollback, AStageThatHasNobodyGetsOneOfAnother) {
  Trained bench;
  bench.start_again();
  std::vector<ProcessIncarnation> lost;
  bench.answer([&](const SpawnStage& order, ProcessIncarnation process) {
    if (order.stage == StageId{1}) return Answer::kReady;
    lost.push_back(process);
    return Answer::kNothing;
  });
  ASSERT_EQ(lost.size(), 2U);
  for (const ProcessIncarnation process : lost) bench.lose(process);
  bench.pass(9, [](const SpawnStage&, ProcessIncarnation) { return Answer::kReady; });
  EXPECT_EQ(bench.core.phase(), Phase::kSpawning) << "others may join";
  bench.pass(3, [](const SpawnStage&, ProcessIncarnation) { return Answer::kReady; });
  EXPECT_EQ(bench.core.phase(), Phase::kTraining);
  EXPECT_EQ(bench.core.view().replica_count(), 2U);
  ASSERT_EQ(bench.all<EndStage>().size(), 1U) << "its worker serves the other stage now";
  EXPECT_EQ(bench.all<EndStage>()[0].stage, StageId{1});
}

// The slow one joins them.
TEST(SupervisorRollback, OneThatStartsSlowlyIsWaitedForAsLongAgainAsTheOthersTook) {
  for (const std::uint64_t took : {5U, 20U}) {
    Trained bench;
    bench.start_again();
    const SpawnStage slow = bench.all<SpawnStage>().back();
    const std::uint64_t waits = std::max<std::uint64_t>(10, took);
    for (std::uint64_t second = 1; second <= took + waits + 5; ++second) {
      bench.beat(1);
      bench.hear(StateProgress{Branch{1}, 2, slow.stage, slow.replica, {}, false, second, 1000});
      if (second == took) {
        bench.answer([&](const SpawnStage& order, ProcessIncarnation) {
          return order.replica == slow.replica ? Answer::kNothing : Answer::kReady;
        });
      }
      ASSERT_EQ(bench.core.phase() == Phase::kTraining, second >= took + waits) << "after " << second << " s";
    }
    EXPECT_EQ(bench.core.view().replica_count(), 3U);
    EXPECT_EQ(bench.all<EndStage>().back().replica, slow.replica);
    EXPECT_EQ(bench.all<SpawnStage>().back().stage, slow.stage);
    EXPECT_NE(bench.all<SpawnStage>().back().donor, Incarnation{});
  }
}

TEST(SupervisorRollback, AfterAWhileOneReplicaPerStageWillDo) {
  Trained bench;
  bench.lose_stage(1);
  bench.later(seconds(1));
  EXPECT_TRUE(bench.all<SpawnStage>().size() == 4U) << "two workers are left, and four are waited for";
  std::vector<ProcessIncarnation> all;
  for (const Welcome& welcome : bench.all<Welcome>()) all.push_back(welcome.process);
  bench.beat(all, 10);
  bench.ready_again();
  for (int second = 0; second < 11 && bench.core.phase() != Phase::kTraining; ++second) bench.beat(all, 1);
  EXPECT_EQ(bench.core.phase(), Phase::kTraining);
  EXPECT_EQ(bench.core.view().replica_count(), 2U);
}

TEST(SupervisorRollback, ALossWhileRollingBackIsAnotherTryOnTheSameBranch) {
  Trained bench;
  bench.start_again();
  bench.lose(bench.all<Welcome>().back().process);
  bench.join(9);
  bench.later(seconds(0));
  bench.ready_again();
  EXPECT_EQ(bench.core.phase(), Phase::kTraining);
  EXPECT_EQ(bench.core.view().branch(), Branch{1});
  bench.lose_stage(0);
  for (const std::uint64_t number : {10, 11}) bench.join(number);
  bench.later(seconds(0));
  bench.ready_again();
  EXPECT_EQ(bench.core.view().branch(), Branch{2});
}

TEST(SupervisorRollback, AReplicaThatWasStillStartingIsEnded) {
  Trained bench;
  bench.start_again();
  bench.answer_look();
  EXPECT_TRUE(bench.all<EndStage>().empty()) << "nobody asked";
  EXPECT_EQ(bench.core.phase(), Phase::kSpawning);
}

TEST(SupervisorRollback, ACheckpointOfTheDeadBranchDoesNotCount) {
  Trained bench;
  bench.lose_stage(1);
  bench.hear(CheckpointSaved{Branch{0}, 3, "dead", 1, 0.1});
  EXPECT_FALSE(bench.has_event(RunEventKind::kCheckpoint));
}

// More replicas than a block has numbers: all of them are started in one go, at the start and after a roll-back.
TEST(SupervisorRollback, OfAVeryWideRunHasNumbersForEverybody) {
  SupervisorConfig config = two_by_two();
  config.stages = 1;
  config.replicas = 250;
  SupervisorBench bench(config);
  for (std::uint64_t number = 1; number <= 250; ++number) bench.join(number);
  bench.ready();
  ASSERT_EQ(bench.core.view().replica_count(), 250U);
  bench.sent.clear();
  for (const ReplicaMember& member : std::vector(bench.core.view().replicas_of(StageId{0}))) {
    bench.hear(StageEnded{StageId{0}, member.incarnation, "lost", {}});
  }
  bench.watch(std::chrono::seconds(8));
  bench.ready();
  EXPECT_EQ(bench.core.view().branch(), Branch{1});
  EXPECT_EQ(bench.core.view().replica_count(), 250U);
}

TEST(SupervisorRollback, WithoutAnyProgressTheProcessesAreStartedAgain) {
  Trained bench;
  std::uint64_t number = 10;
  for (int i = 0; i < 30 && !bench.ended; ++i) {
    bench.lose_stage(0);
    for (int node = 0; node < 2; ++node) bench.join(++number);
    bench.later(seconds(0));
    bench.ready_again();
  }
  EXPECT_EQ(bench.exit_status(), 1);
  EXPECT_NE(bench.ended->reason.find("again and again"), std::string::npos);
}

// Nothing that starts again finds more of it.
TEST(SupervisorRollback, MemoryThatIsNeverEnoughEndsTheRunAndIsNamed) {
  for (const bool is_memory : {true, false}) {
    auto config = Trained::long_run();
    config.state_bytes = {5U << 20U, 7U << 20U};
    Trained bench(config);
    const std::string reason = is_memory ? compose(kNoMoreMemory, " (std::bad_alloc): 585 MiB are allowed") : "a bug";
    for (std::uint64_t i = 0; i < VainRollBacks::kFittedMax && !bench.ended; ++i) {
      const auto members = bench.core.view().replicas_of(StageId{1});  // as they are now
      for (const ReplicaMember& member : members) {
        bench.hear(StageEnded{StageId{1}, member.incarnation, reason, {}});
      }
      bench.pass(80, [](const SpawnStage&, ProcessIncarnation) { return Answer::kReady; });
    }
    bench.later(bench.core.phase() == Phase::kTraining ? seconds(0) : seconds(10));  // for processes to leave
    ASSERT_EQ(bench.ended.has_value(), is_memory);
    EXPECT_EQ(bench.count_of(RunEventKind::kStartDelayed), is_memory ? VainRollBacks::kFittedMax - 1 : 0);
    if (!is_memory) continue;
    EXPECT_EQ(bench.exit_status(), kGivenUpStatus);
    for (const char* part : {"stage 1", "no more memory", "585 MiB", "8 MiB"}) {
      EXPECT_NE(bench.ended->reason.find(part), std::string::npos) << bench.ended->reason;
    }
  }
}

// The disk takes its time: who comes, dies or gives orders meanwhile is heard, and the answer to the look counts
// whenever it comes, if it is still awaited.
struct Looking : Trained {
  Looking() {
    is_disk_slow = true;
    sent.clear();
    const auto members = core.view().replicas_of(StageId{1});  // as they are now
    for (const ReplicaMember& member : members) lose(member.process);
    EXPECT_EQ(core.phase(), Phase::kRollingBack);
    EXPECT_EQ(looks.size(), 1U);
  }
};

TEST(SupervisorSearch, LetsInWhoJoinsMeanwhileAndStartsWithAllOfThem) {
  Looking bench;
  for (const std::uint64_t number : {7, 8}) bench.join(number);
  EXPECT_EQ(bench.all<Welcome>().size(), 2U);
  bench.later(seconds(1));
  EXPECT_TRUE(bench.all<SpawnStage>().empty()) << "nobody knows from what";
  bench.answer_look();
  bench.later(seconds(0));
  EXPECT_EQ(bench.all<SpawnStage>().size(), 4U);
  bench.ready();
  EXPECT_EQ(bench.core.phase(), Phase::kTraining);
  EXPECT_EQ(bench.core.view().committed_steps(), 2U);
  EXPECT_EQ(bench.core.view().branch(), Branch{1});
}

TEST(SupervisorSearch, AnswersHeartbeatsAndQuestionsAndSaysHowLongItLooks) {
  Looking bench;
  const ProcessIncarnation alive = bench.process_of(0, 0);
  for (int second = 0; second < 180; ++second) {
    bench.hear(Heartbeat{alive, 1, 5, {}});
    bench.later(seconds(1));
  }
  EXPECT_EQ(bench.all<HeartbeatEcho>().size(), 180U);
  EXPECT_THAT(bench.core.explain_waiting(bench.now), StartsWith("rolling back: looking for a checkpoint, since 3 min"));
  EXPECT_EQ(bench.count_of(RunEventKind::kProcessLost), 3U) << "two of stage 1, and the silent one of stage 0";
  SaveOutcome asked = bench.core.save({"a test", std::nullopt}, bench.now);
  EXPECT_THAT(asked.answer.text, HasSubstr("looking for a checkpoint"));
  bench.perform(std::move(asked.effects));
  EXPECT_EQ(bench.looks.size(), 1U);
  EXPECT_FALSE(bench.ended);
}

TEST(SupervisorSearch, AStopEndsTheRunAndTheLateAnswerChangesNothing) {
  Looking bench;
  bench.perform(bench.core.stop("SIGINT", 130, bench.now));
  EXPECT_EQ(bench.core.phase(), Phase::kEnding);
  EXPECT_EQ(bench.all<EndProcess>().size(), 2U) << "those of stage 0";
  const std::size_t entries = bench.entries.size();
  const std::size_t letters = bench.sent.size();
  bench.answer_look();
  EXPECT_EQ(bench.entries.size(), entries);
  EXPECT_EQ(bench.sent.size(), letters);
  EXPECT_EQ(bench.exit_status(), 130);
  EXPECT_EQ(bench.looks.size(), 1U);
}

TEST(SupervisorSearch, AnotherStageThatIsLostMeanwhileGoesBackWithIt) {
  Looking bench;
  const auto others = bench.core.view().replicas_of(StageId{0});  // as they are now
  for (const ReplicaMember& member : others) bench.lose(member.process);
  bench.later(seconds(1));
  EXPECT_EQ(bench.looks.size(), 1U);
  for (const std::uint64_t number : {7, 8, 9, 10}) bench.join(number);
  bench.answer_look();
  bench.later(seconds(0));
  bench.ready();
  EXPECT_EQ(bench.core.phase(), Phase::kTraining);
  EXPECT_EQ(bench.core.view().branch(), Branch{1});
  EXPECT_EQ(bench.core.view().replica_count(), 4U);
}

TEST(SupervisorSearch, AnAnswerThatComesTwiceCountsOnce) {
  Looking bench;
  for (const std::uint64_t number : {7, 8}) bench.join(number);
  bench.answer_look();
  bench.later(seconds(0));
  const std::size_t entries = bench.entries.size();
  bench.answer_look();
  EXPECT_EQ(bench.entries.size(), entries);
  EXPECT_EQ(bench.core.phase(), Phase::kSpawning);
  EXPECT_EQ(bench.all<SpawnStage>().size(), 4U);
}

// The look read the one before while storage wrote this one.
TEST(SupervisorSearch, ACheckpointThatIsSavedMeanwhileIsTheOneToGoBackTo) {
  Looking bench;
  bench.saved(3);
  bench.answer_look();
  ASSERT_EQ(bench.looks.size(), 2U);
  EXPECT_EQ(bench.core.phase(), Phase::kRollingBack);
  bench.checkpoint = StartPoint{3, 3, true, "abc"};
  bench.answer_look();
  for (const std::uint64_t number : {7, 8}) bench.join(number);
  bench.later(seconds(0));
  bench.ready();
  EXPECT_EQ(bench.core.view().committed_steps(), 3U);
  EXPECT_EQ(bench.looks.size(), 2U);
}

TEST(SupervisorSearch, AJournalThatRefusesMeanwhileEndsTheRun) {
  Looking bench;
  bench.perform(bench.core.journal_failed("disk full", 3, bench.now));
  bench.answer_look();
  EXPECT_EQ(bench.exit_status(), 3);
}

// `--wait-timeout` is for workers that lack.
TEST(SupervisorSearch, TakesNoneOfTheTimeForWhichWorkersAreWaitedFor) {
  SupervisorConfig config = Trained::long_run();
  config.wait_timeout = seconds(30);
  config.start = StartPoint{2, 2, true, "sha"};
  SupervisorBench bench(config);
  bench.checkpoint = config.start;
  bench.is_disk_slow = true;
  for (const std::uint64_t number : {1, 2, 3, 4}) bench.join(number);
  for (const SpawnStage& order : bench.all<SpawnStage>()) {
    bench.hear(StageEnded{order.stage, order.replica, "no memory", {}});
  }
  ASSERT_EQ(bench.core.phase(), Phase::kRollingBack);
  for (const Welcome& welcome : bench.all<Welcome>()) bench.lose(welcome.process);
  bench.watch(seconds(300));
  EXPECT_EQ(bench.core.phase(), Phase::kRollingBack);
  bench.answer_look();
  bench.watch(seconds(25));
  EXPECT_EQ(bench.core.phase(), Phase::kGathering);
  bench.watch(seconds(10));
  EXPECT_EQ(bench.exit_status(), 4) << "the control: nobody came";
}

}  // namespace
}  // namespace shoal::supervisor_rollback_test
