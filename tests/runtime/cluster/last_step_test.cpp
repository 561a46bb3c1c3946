// Which commit is the last one, and what is awaited after it.
#include "runtime/cluster/last_step.h"

#include <gtest/gtest.h>

namespace shoal::last_step_test {
namespace {

constexpr std::uint64_t kTarget = 10;

TEST(LastStep, IsTheTargetOrTheNextOneAfterAStop) {
  LastStep last(kTarget);
  EXPECT_FALSE(last.is_at(9));
  EXPECT_TRUE(last.is_at(10));
  EXPECT_TRUE(last.is_at(11));
  last.stop({"a person wants it", RunEventKind::kStopped, 130});
  EXPECT_TRUE(last.is_at(1));
  ASSERT_TRUE(last.stopped());
  EXPECT_EQ(last.stopped()->exit_status, 130);
}

TEST(LastStep, IsFollowedByItsCheckpointAndTheEvaluation) {
  LastStep last(kTarget);
  EXPECT_EQ(last.awaits(false), RunAwaits::kSteps);
  EXPECT_EQ(last.awaits(true), RunAwaits::kSteps) << "the state before it may be saved, too";
  last.committed(true);
  EXPECT_EQ(last.awaits(false), RunAwaits::kCheckpoint);
  EXPECT_EQ(last.awaits(true), RunAwaits::kEvaluation);
  last.evaluated(kTarget - 1);
  EXPECT_EQ(last.awaits(true), RunAwaits::kEvaluation) << "of an earlier state";
  last.evaluated(kTarget);
  EXPECT_EQ(last.awaits(false), RunAwaits::kCheckpoint);
  EXPECT_EQ(last.awaits(true), RunAwaits::kNothing);
}

TEST(LastStep, OfARunThatWasStoppedIsSavedAndNotEvaluated) {
  LastStep last(kTarget);
  last.stop({"a person wants it", RunEventKind::kStopped, 130});
  last.committed(true);
  EXPECT_EQ(last.awaits(false), RunAwaits::kCheckpoint);
  EXPECT_EQ(last.awaits(true), RunAwaits::kNothing);
}

TEST(LastStep, IsCommittedInAStateThatHasIt) {
  LastStep last(kTarget);
  last.begin_from(kTarget - 1);
  EXPECT_FALSE(last.is_committed());
  last.begin_from(kTarget);
  EXPECT_TRUE(last.is_committed());
}

TEST(LastStep, IsDoneAgainAfterARollBack) {
  LastStep last(kTarget);
  last.committed(true);
  last.evaluated(kTarget);
  last.undo();
  EXPECT_EQ(last.awaits(true), RunAwaits::kSteps);
  last.committed(true);
  EXPECT_EQ(last.awaits(true), RunAwaits::kEvaluation) << "of the state that is trained again";
}

TEST(LastStep, IsTheNewestCommitWhereTheStepInProgressIsDropped) {
  LastStep last(kTarget);
  last.stop({"a person wants it", RunEventKind::kStopped, 130});
  last.drop_step();
  EXPECT_TRUE(last.is_committed());
  EXPECT_EQ(last.awaits(false), RunAwaits::kCheckpoint);
  EXPECT_EQ(last.awaits(true), RunAwaits::kNothing);
}

TEST(LastStep, AFailureIsKnownFromAStop) {
  LastStep last(kTarget);
  EXPECT_FALSE(last.has_failed());
  last.stop({"a person wants it", RunEventKind::kStopped, 130});
  EXPECT_FALSE(last.has_failed());
  last.stop({"training diverged", RunEventKind::kFailed, 5});
  EXPECT_TRUE(last.has_failed());
}

}  // namespace
}  // namespace shoal::last_step_test
