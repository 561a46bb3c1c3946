// The duty that saves a checkpoint when a person asks for one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/cluster/duties/asked/save.h"
#include "runtime/cluster/duties/checkpoints.h"
#include "tests/runtime/cluster/duty_bench.h"

namespace shoal::save_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct SaveDutyTest : testing::Test, DutyBench {
  SaveDutyTest() {
    train();
    join("storage", ProcessRole::kStorage);
    commit_step();
  }
  void commit_step(bool saves = false) {
    Commit commit = commit_of(truth.view().committed_steps());
    if (saves) commit.checkpoint_by = {replica(0, 0), replica(1, 0)};
    record(commit);
    (void)checkpoints.on(commit, now);
  }
  // Both duties hear it, in their order.
  template <class Message>
  Answers hear(const Message& message) {
    (void)checkpoints.on(message, now);
    return duty.on(message, now);
  }
  [[nodiscard]] CheckpointSaved saved(std::uint64_t step) const {
    return {truth.history.branch(), step, "abc", 1, 0.1};
  }
  SaveAnswer ask(std::optional<SaveGoal> goal = std::nullopt) {
    last = duty.hear({"shoal checkpoint", goal}, now);
    return last.answer;
  }
  [[nodiscard]] bool is_wanted() const { return !told<CheckpointWanted>(last.answers).empty(); }

  CheckpointDuty checkpoints{truth, truth.checkpoints};
  SaveDuty duty{truth};
  SaveHeard last;
};

TEST_F(SaveDutyTest, WantsTheStateAfterTheStepInProgress) {
  const SaveAnswer answer = ask();
  EXPECT_EQ(answer.verdict, OperatorVerdict::kDone);
  EXPECT_EQ(answer.stage, SaveStage::kOrdered);
  EXPECT_EQ(answer.goal, (SaveGoal{2, truth.history.branch()}));
  EXPECT_THAT(answer.text, HasSubstr("after 2 steps will be saved; 1 is done"));
  EXPECT_TRUE(is_wanted());
  EXPECT_THAT(announced(last.answers), ElementsAre("checkpoint_asked"));
}

TEST_F(SaveDutyTest, TakesTheNewestStateWhereItIsSavedOrBeingSaved) {
  commit_step(true);
  EXPECT_EQ(ask().goal.step, 2U);
  EXPECT_EQ(last.answer.stage, SaveStage::kOrdered);
  EXPECT_THAT(last.answer.text, HasSubstr("is being saved"));
  EXPECT_FALSE(is_wanted());
  (void)hear(saved(2));
  EXPECT_EQ(ask().stage, SaveStage::kSaved);
  EXPECT_EQ(last.answer.goal.step, 2U);
  EXPECT_TRUE(last.answers.all().empty());
}

TEST_F(SaveDutyTest, AnswersOnceMoreHowFarItIsAndAnnouncesItOnce) {
  const SaveGoal goal = ask().goal;
  EXPECT_EQ(ask(goal).stage, SaveStage::kOrdered);
  EXPECT_THAT(announced(last.answers), IsEmpty());
  commit_step(true);
  EXPECT_EQ(ask(goal).stage, SaveStage::kOrdered);
  EXPECT_FALSE(is_wanted()) << "it is on its way";
  commit_step();
  (void)hear(saved(2));
  EXPECT_EQ(ask(goal).stage, SaveStage::kSaved);
}

TEST_F(SaveDutyTest, ALaterCheckpointIsAsGood) {
  const SaveGoal goal = ask().goal;
  commit_step();
  commit_step(true);
  (void)hear(saved(3));
  EXPECT_EQ(ask(goal).stage, SaveStage::kSaved);
  EXPECT_EQ(last.answer.goal.step, 3U) << "it names the one that lies there";
}

// Negative control: an older one than was asked for is not.
TEST_F(SaveDutyTest, AnOlderCheckpointIsNone) {
  commit_step(true);
  commit_step();
  const SaveGoal goal = ask().goal;
  EXPECT_EQ(goal.step, 4U);
  (void)hear(saved(2));
  EXPECT_EQ(ask(goal).stage, SaveStage::kOrdered);
}

TEST_F(SaveDutyTest, TellsThatItCouldNotBeSavedAndDoesNotTryAgain) {
  const SaveGoal goal = ask().goal;
  commit_step(true);
  EXPECT_TRUE(hear(CheckpointFailed{truth.history.branch(), 2, "no space left"}).all().empty());
  EXPECT_EQ(ask(goal).stage, SaveStage::kFailed);
  EXPECT_THAT(last.answer.text, HasSubstr("no space left"));
  EXPECT_FALSE(is_wanted());
  EXPECT_EQ(ask().stage, SaveStage::kOrdered) << "a person may ask anew";
  EXPECT_TRUE(is_wanted());
}

TEST_F(SaveDutyTest, SaysWhyTheLastCommitDidNotSave) {
  const SaveGoal goal = ask().goal;
  commit_step();
  (void)hear(CheckpointDelayed{2, "the perplexity of its state is not finite; saved when one is"});
  EXPECT_THAT(ask(goal).text, HasSubstr("perplexity"));
  truth.roster.processes.lose(truth.roster.processes.alive(ProcessRole::kStorage)[0]);
  EXPECT_THAT(ask(goal).text, HasSubstr("there is no storage"));
}

TEST_F(SaveDutyTest, WantsTheFirstStateOfANewBranch) {
  commit_step(true);
  (void)hear(saved(2));
  commit_step();
  const SaveGoal goal = ask().goal;
  EXPECT_EQ(goal.step, 4U);
  StartPoint start;
  start.version = 2;
  start.from_checkpoint = true;
  EXPECT_EQ(told<CheckpointWanted>(hear(BranchBegins{start})).size(), 1U);
  start.version = 4;
  EXPECT_TRUE(hear(BranchBegins{start}).all().empty()) << "nothing is wanted of what is there";
}

TEST_F(SaveDutyTest, TakesAGoalOfADeadBranchForOneOfThisUnlessItWasSaved) {
  const SaveGoal dead{9, Branch{truth.history.branch().value + 7}};
  EXPECT_EQ(ask(dead).goal, (SaveGoal{2, truth.history.branch()}));
  commit_step(true);
  (void)hear(saved(2));
  EXPECT_EQ(ask(SaveGoal{2, dead.branch}).stage, SaveStage::kSaved) << "this branch begins with it";
}

TEST_F(SaveDutyTest, RefusesOnceTheRunIsOverButSaysWhatWasSaved) {
  const SaveGoal goal = ask().goal;
  commit_step(true);
  (void)hear(saved(2));
  truth.phase = RunPhase::kEnding;
  EXPECT_EQ(ask(goal).stage, SaveStage::kSaved);
  EXPECT_EQ(ask().verdict, OperatorVerdict::kRefused);
  EXPECT_THAT(last.answer.text, HasSubstr("its newest checkpoint is step_2"));
}

TEST_F(SaveDutyTest, SaysWhatIsWaitedForBeforeTheRunTrains) {
  truth.phase = RunPhase::kGathering;
  EXPECT_EQ(ask().verdict, OperatorVerdict::kDone);
  EXPECT_THAT(last.answer.text, HasSubstr("will be saved; 1 is done; "));
  EXPECT_TRUE(is_wanted());
}

TEST_F(SaveDutyTest, LeavesTheLastStateToTheEndOfTheRun) {
  commit_step();
  truth.ending.last_step.committed(true);
  EXPECT_EQ(ask().goal.step, 2U);
  EXPECT_FALSE(is_wanted());
}

}  // namespace
}  // namespace shoal::save_test
