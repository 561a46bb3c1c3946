// When hints say that everything of a step is answered.
#include "runtime/sync/step_hints.h"

#include <gtest/gtest.h>

namespace shoal::step_hints_test {
namespace {

using namespace std::chrono_literals;
using Of = StepHints::Of;

constexpr Incarnation kOne{11}, kOther{12};
constexpr std::uint64_t kPlanned = 4;
const Instant kStart = Instant{} + 1h;
const std::vector<ReplicaMember> kMembers = {{kOne, {}, {}}, {kOther, {}, {}}};

Progress said(Incarnation member, std::uint32_t count, std::uint32_t counter = 1) {
  Progress progress;
  progress.order.epoch = Epoch{Incarnation{90}, counter};
  progress.member = member;
  progress.count = count;
  return progress;
}

bool cover(const StepHints& hints, Instant now = kStart, const Epoch& last_zero = {}) {
  return hints.cover(kPlanned, kMembers, last_zero, now);
}

TEST(StepHints, CoverAPlanWhenTheMembersHaveAnsweredItTogether) {
  StepHints hints;
  EXPECT_TRUE(hints.hear(said(kOne, 3), Of::kThisStep));
  EXPECT_FALSE(hints.hear(said(kOne, 3), Of::kThisStep)) << "it says nothing more";
  EXPECT_FALSE(cover(hints));
  EXPECT_TRUE(hints.hear(said(kOther, 1), Of::kThisStep));
  EXPECT_TRUE(cover(hints));
}

TEST(StepHints, OfWhoeverLeftTheViewDoNotCount) {
  StepHints hints;
  hints.hear(said(Incarnation{13}, 4), Of::kThisStep);
  EXPECT_FALSE(cover(hints));
  EXPECT_TRUE(hints.has_counts());
}

TEST(StepHints, P16FromBeforeTheLastZeroDoNotCount) {
  StepHints hints;
  hints.hear(said(kOne, 4, 1), Of::kThisStep);
  EXPECT_FALSE(cover(hints, kStart, Epoch{Incarnation{90}, 2}));
  hints.hear(said(kOne, 4, 2), Of::kThisStep);
  EXPECT_TRUE(cover(hints, kStart, Epoch{Incarnation{90}, 2}));
}

TEST(StepHints, AManifestCountsExactly) {
  StepHints hints;
  hints.hear(said(kOne, 4, 2), Of::kThisStep);
  hints.count(kOne, Epoch{Incarnation{90}, 3}, 2);
  EXPECT_FALSE(cover(hints));
}

TEST(StepHints, P17AllAnsweredCountsAgainAfterAWhile) {
  StepHints hints;
  hints.ignore_all_answered_until(kStart + 2s);
  hints.hear_all_answered(Of::kThisStep);
  EXPECT_FALSE(cover(hints));
  EXPECT_TRUE(cover(hints, kStart + 2s));
  hints.forget_all_answered();
  EXPECT_FALSE(cover(hints, kStart + 2s));
}

TEST(StepHints, OfTheNextStepWaitForTheCommit) {
  StepHints hints;
  hints.hear(said(kOne, 4), Of::kNextStep);
  hints.hear_all_answered(Of::kNextStep);
  EXPECT_FALSE(cover(hints));
  hints.clear();
  EXPECT_FALSE(cover(hints));
  hints.begin_next(kStart);
  EXPECT_TRUE(cover(hints));
  hints.begin_next(kStart);
  EXPECT_FALSE(cover(hints));
}

TEST(StepHints, KnowForHowLongNothingMoved) {
  StepHints hints;
  hints.moved(kStart);
  EXPECT_EQ(hints.quiet_for(kStart + 3s), 3s);
}

}  // namespace
}  // namespace shoal::step_hints_test
