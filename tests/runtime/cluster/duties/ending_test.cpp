// The duty that knows when a run ends, and lets everybody go in order.
#include <gtest/gtest.h>

#include "runtime/cluster/duties/ending.h"
#include "tests/runtime/cluster/duty_bench.h"

namespace shoal::ending_test {
namespace {

struct EndingDutyTest : testing::Test, DutyBench {
  EndingDutyTest() { train(); }
  // The last step is committed; it is saved up to this version.
  void end_of_steps(std::uint64_t saved) {
    for (std::uint64_t step = 0; step < 3; ++step) record(commit_of(step));
    truth.ending.last_step.committed(true);
    truth.checkpoints.begin_from(saved, "abc");
  }
  void follow(const Answers& answers) {
    for (const PhaseBegins& begins : told<PhaseBegins>(answers)) truth.follow(begins, now);
  }
  EndingDuty duty{truth, truth.ending};
};

TEST_F(EndingDutyTest, EndsNothingWhileStepsFollow) { EXPECT_TRUE(duty.on(EndDue{}, now).all().empty()); }

TEST_F(EndingDutyTest, AsksForALastCheckpointThatNobodyWasNamedFor) {
  end_of_steps(2);
  EXPECT_EQ(told<LastStateUnsaved>(duty.on(EndDue{}, now)).size(), 1U);
}

TEST_F(EndingDutyTest, IsFinishedWhenTheLastStateIsSavedAndEvaluated) {
  end_of_steps(3);
  EXPECT_TRUE(duty.on(EndDue{}, now).all().empty()) << "the evaluation is awaited";
  const Answers answers = duty.on(EvaluationResult{{}, 3, 1, 1, 1, true}, now);
  ASSERT_EQ(told<EndOfRun>(answers).size(), 1U);
  EXPECT_EQ(told<EndOfRun>(answers)[0].kind, RunEventKind::kFinished);
}

TEST_F(EndingDutyTest, AsksForTheCommitWhenARunIsStopped) {
  const Answers answers = duty.on(StopAsked{"SIGTERM", 0}, now);
  EXPECT_EQ(told<CommitDue>(answers).size(), 1U);
  EXPECT_LT(place_of<CommitDue>(answers), place_of<EndDue>(answers));
  EXPECT_TRUE(truth.ending.last_step.stopped());
}

// Two last replicas that cannot reach each other make no step, and a person does not wait for them.
TEST_F(EndingDutyTest, DropsAStepOfAStoppedRunThatStandsBetweenReplicas) {
  truth.checkpoints.begin_from(0, "abc");
  const auto dropped_after = [&](bool is_stopped, int seconds) {
    if (is_stopped) (void)duty.on(StopAsked{"SIGTERM", 0}, now);
    const Instant end = now + std::chrono::seconds(seconds);
    for (; now < end; now += std::chrono::seconds(1)) {
      truth.signs.hear(PeerUnreachable{process(0, 0), process(1, 0), 3000}, now);
    }
    return asked<TellPerson>(duty.on(EndDue{}, now)).size() == 1 && truth.ending.last_step.is_committed();
  };
  EXPECT_FALSE(dropped_after(false, 30)) << "it goes on when there is a way";
  now += std::chrono::seconds(60);
  EXPECT_FALSE(dropped_after(true, 15));
  EXPECT_TRUE(dropped_after(true, 10));
}

TEST_F(EndingDutyTest, EndsAtOnceWhatDoesNotTrainYet) {
  truth.phase = RunPhase::kGathering;
  EXPECT_EQ(told<EndOfRun>(duty.on(StopAsked{"SIGTERM", 0}, now)).size(), 1U);
}

TEST_F(EndingDutyTest, RecordsTheEndOfATrainedRunAndTellsItsNodes) {
  const Answers answers = duty.on(EndOfRun{0, "all 3 steps are committed", RunEventKind::kFinished}, now);
  EXPECT_EQ(entries<FinishRun>(answers).size(), 1U);
  EXPECT_EQ(sent<EndProcess>(answers).size(), 4U);
  follow(answers);
  EXPECT_TRUE(duty.on(EndOfRun{3, "again", RunEventKind::kFailed}, now).all().empty()) << "it ends once";
}

TEST_F(EndingDutyTest, LetsStorageGoAfterTheNodesAndIsOverAfterBoth) {
  const ProcessIncarnation storage = join("storage1", ProcessRole::kStorage);
  follow(duty.on(EndOfRun{0, "done", RunEventKind::kFinished}, now));
  EXPECT_TRUE(sent<EndProcess>(duty.on(DismissalDue{}, now)).empty());
  for (const ProcessIncarnation node : truth.roster.processes.alive(ProcessRole::kNode)) {
    truth.roster.processes.lose(node);
  }
  EXPECT_EQ(sent<EndProcess>(duty.on(DismissalDue{}, now)).size(), 1U);
  truth.roster.processes.lose(storage);
  now += std::chrono::seconds(1);
  EXPECT_EQ(asked<EndRun>(duty.on(DismissalDue{}, now)).size(), 1U);
}

TEST_F(EndingDutyTest, TellsOfAnEndThatCannotBeRecordedAsOfAFailure) {
  follow(duty.on(EndOfRun{0, "done", RunEventKind::kFinished}, now));
  const auto events = sent<RunEvent>(duty.on(JournalFailed{"disk full", 3, true}, now));
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].kind, RunEventKind::kFailed);
  EXPECT_TRUE(duty.on(JournalFailed{"disk full", 3, false}, now).all().empty()) << "nothing more was asked for";
}

}  // namespace
}  // namespace shoal::ending_test
