// The duty that commits steps (commit_gate_test.cpp tests what a commit waits for).
#include <gtest/gtest.h>

#include "runtime/cluster/duties/steps.h"
#include "tests/runtime/cluster/duty_bench.h"
#include "tests/support/rounds_every.h"

namespace shoal::steps_test {
namespace {

struct StepDutyTest : testing::Test, DutyBench {
  StepDutyTest() {
    train();
    (void)duty.on(TrainingBegins{}, now);
  }
  void vote() {
    for (const std::uint32_t stage : {0U, 1U}) (void)duty.on(vote_of(stage), now);
  }
  StepDuty duty{truth, truth.ballots};
};

TEST_F(StepDutyTest, AsksForTheCommitWhenEveryStageHasVoted) {
  (void)duty.on(vote_of(0), now);
  EXPECT_TRUE(duty.on(CommitDue{}, now).all().empty());
  EXPECT_EQ(told<CommitDue>(duty.on(vote_of(1), now)).size(), 1U);
  EXPECT_EQ(entries<Commit>(duty.on(CommitDue{}, now)).size(), 1U);
}

TEST_F(StepDutyTest, AsksForACommitByItself) {
  vote();
  truth.history.ask();
  EXPECT_TRUE(duty.on(CommitDue{}, now).all().empty()) << "an entry is asked for in the same answer";
  truth.history.begin_answer();
  EXPECT_EQ(entries<Commit>(duty.on(CommitDue{}, now)).size(), 1U);
}

TEST_F(StepDutyTest, RefusesAStaleVoteWithoutAskingForMore) {
  Prepared vote = vote_of(0);
  vote.order.step = StepId{7};
  const Answers answers = duty.on(vote, now);
  EXPECT_EQ(asked<Note>(answers).size(), 1U);
  EXPECT_TRUE(told<CommitDue>(answers).empty());
}

TEST_F(StepDutyTest, LooksAtEverythingBetweenTwoStepsInOneOrder) {
  record(commit_of(0));
  const Answers answers = duty.on(commit_of(0), now);
  EXPECT_LT(place_of<RoundsDue>(answers), place_of<LossDue>(answers));
  EXPECT_LT(place_of<LossDue>(answers), place_of<LeaversDue>(answers));
  EXPECT_LT(place_of<LeaversDue>(answers), place_of<EndDue>(answers));
  EXPECT_EQ(place_of<EndDue>(answers) + 1, answers.all().size());
}

TEST_F(StepDutyTest, LetsNobodyLeaveAfterTheLastStep) {
  truth.ending.last_step.committed(true);
  EXPECT_TRUE(told<LeaversDue>(duty.on(commit_of(0), now)).empty());
}

TEST_F(StepDutyTest, OwesACheckpointThatNoStorageCanTake) {
  truth.config.checkpoint_every = 1;
  vote();
  const Answers answers = duty.on(CommitDue{}, now);
  EXPECT_EQ(told<CheckpointDelayed>(answers).size(), 1U);
  ASSERT_EQ(entries<Commit>(answers).size(), 1U);
  EXPECT_TRUE(entries<Commit>(answers)[0].checkpoint_by.empty());
}

TEST_F(StepDutyTest, NamesASaverOfEachStageWhereACheckpointIsDue) {
  truth.config.checkpoint_every = 1;
  join("storage1", ProcessRole::kStorage);
  vote();
  const auto commits = entries<Commit>(duty.on(CommitDue{}, now));
  ASSERT_EQ(commits.size(), 1U);
  EXPECT_EQ(commits[0].checkpoint_by, (std::vector{replica(0, 0), replica(1, 0)}));
}

// One worker serves both stages, others serve them, too; of a round one member has no share.
struct MissedRound : testing::Test, DutyBench {
  static SupervisorConfig shared_with_rounds() {
    SupervisorConfig config = small_run();
    config.replicas = 1;
    config.share_devices = true;
    config.rounds = rounds_every(1, OuterUpdate::kDelayed);
    return config;
  }
  MissedRound() : DutyBench(shared_with_rounds()) {
    train();
    record(AddReplica{StageId{1}, ReplicaId{2}, Incarnation{99}, process(0, 0), 0});
    record(commit_of(0));
    Prepared vote = vote_of(0);
    vote.order.round = {0, 1};
    vote.order.step = StepId{1};
    vote.shares = {RoundShare{replica(0, 0), 7}};
    EXPECT_EQ(truth.ballots.hear(vote, truth.view()), std::nullopt);
    record(commit_of(1));
    truth.roster.giving_way = truth.superfluous().value().replica;
  }
  StepDuty duty{truth, truth.ballots};
};

TEST_F(MissedRound, WhoGivesWayGoesBeforeIt) {
  const Answers answers = duty.on(commit_of(1), now);
  EXPECT_LT(place_of<LeaversDue>(answers), place_of<LossDue>(answers));
  EXPECT_TRUE(told<RoundsDue>(answers).empty()) << "those who are left vote for it anew";
}

TEST_F(MissedRound, DoesNotWaitForOneThatGivesWayAndCannotGo) {
  truth.checkpoints.order(2, {*truth.roster.giving_way}, CheckpointOrder::Rank::kOneOfMany, now);
  EXPECT_EQ(told<RoundsDue>(duty.on(commit_of(1), now)).size(), 1U) << "it is saving";
  truth.checkpoints.forget_order();
  truth.roster.giving_way = replica(0, 1);
  EXPECT_EQ(told<RoundsDue>(duty.on(commit_of(1), now)).size(), 1U) << "it is needed again";
}

}  // namespace
}  // namespace shoal::steps_test
