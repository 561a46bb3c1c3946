// Tests what `shoal checkpoint` makes of the spawner's answers.
#include "launch/commands/operate/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace shoal::checkpoint_test {
namespace {

using testing::HasSubstr;

constexpr double kTimeout = 5;

SaveAnswer answer(SaveStage stage, std::uint64_t step, std::string text = "the state after 3 steps will be saved") {
  return {OperatorVerdict::kDone, {step, Branch{1}}, stage, std::move(text)};
}

TEST(CheckpointWait, EndsAtOnceWithoutWait) {
  CheckpointWait wait(false, kTimeout);
  EXPECT_FALSE(wait.next().goal) << "the newest state";
  const auto done = wait.hear(answer(SaveStage::kOrdered, 3), 0);
  ASSERT_TRUE(done.ok());
  EXPECT_EQ(*done, 3U);
  EXPECT_FALSE(wait.is_saved());
}

TEST(CheckpointWait, AsksForTheSameGoalUntilItIsSaved) {
  CheckpointWait wait(true, kTimeout);
  auto done = wait.hear(answer(SaveStage::kOrdered, 3), 0);
  ASSERT_TRUE(done.ok());
  EXPECT_FALSE(*done);
  EXPECT_EQ(wait.next().goal, (SaveGoal{3, Branch{1}}));
  EXPECT_TRUE(wait.news());
  done = wait.hear(answer(SaveStage::kOrdered, 3), 1);
  EXPECT_FALSE(wait.news()) << "it was said";
  done = wait.hear(answer(SaveStage::kSaved, 4), 2);
  ASSERT_TRUE(done.ok());
  EXPECT_EQ(*done, 4U);
  EXPECT_TRUE(wait.is_saved());
  EXPECT_FALSE(wait.news());
}

TEST(CheckpointWait, FollowsTheGoalToANewBranch) {
  CheckpointWait wait(true, kTimeout);
  (void)wait.hear(answer(SaveStage::kOrdered, 9), 0);
  (void)wait.hear({OperatorVerdict::kDone, {3, Branch{2}}, SaveStage::kOrdered, "again"}, 1);
  EXPECT_EQ(wait.next().goal, (SaveGoal{3, Branch{2}}));
}

TEST(CheckpointWait, HasALimitThatSaysWhatItWaitedFor) {
  CheckpointWait wait(true, kTimeout);
  ASSERT_TRUE(wait.hear(answer(SaveStage::kOrdered, 3), kTimeout - 0.1).ok());
  const auto late = wait.hear(answer(SaveStage::kOrdered, 3, "there is no storage"), kTimeout);
  ASSERT_FALSE(late.ok());
  EXPECT_EQ(exit_code(late.failure().error), 4);
  EXPECT_THAT(late.failure().message, HasSubstr("within 5 s: there is no storage"));
}

TEST(CheckpointWait, FailsByTheDiskWhereItCouldNotBeSaved) {
  CheckpointWait wait(true, kTimeout);
  const auto failed = wait.hear(answer(SaveStage::kFailed, 3, "no space left"), 0);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(exit_code(failed.failure().error), 3);
}

}  // namespace
}  // namespace shoal::checkpoint_test
