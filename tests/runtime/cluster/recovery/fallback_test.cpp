// When all go back for a stage that has nobody, and why: vain_roll_backs_test.cpp says when that is given up.
#include "runtime/cluster/recovery/fallback.h"

#include <gtest/gtest.h>

namespace shoal::fallback_test {
namespace {

using namespace std::chrono_literals;

constexpr Instant kNow = Instant{} + 1h;

TEST(Fallback, ComesAtOnceWhenNothingCanBeSaved) {
  Fallback fallback(5s);
  EXPECT_FALSE(fallback.is_due(false, kNow)) << "no stage is lost";
  EXPECT_TRUE(fallback.lose_stage("stage 1 lost its last replica", kNow));
  EXPECT_TRUE(fallback.is_due(false, kNow));
}

TEST(Fallback, WaitsForWhatCanBeSavedButNotForEver) {
  Fallback fallback(5s);
  EXPECT_TRUE(fallback.lose_stage("stage 1 lost its last replica", kNow));
  EXPECT_FALSE(fallback.is_due(true, kNow + 4s));
  EXPECT_TRUE(fallback.is_due(true, kNow + 5s));
}

TEST(Fallback, TheFirstLossIsItsReasonAndItsClock) {
  Fallback fallback(5s);
  EXPECT_TRUE(fallback.lose_stage("stage 1", kNow));
  EXPECT_FALSE(fallback.lose_stage("stage 0", kNow + 3s));
  EXPECT_EQ(fallback.lost(), "stage 1");
  EXPECT_TRUE(fallback.is_due(true, kNow + 5s));
}

TEST(Fallback, ItsReasonIsKeptWhenTheLossIsMadeGood) {
  Fallback fallback(5s);
  EXPECT_TRUE(fallback.lose_stage("stage 1", kNow));
  EXPECT_FALSE(fallback.why());
  EXPECT_TRUE(fallback.throw_back("stage 1", 7));
  fallback.begin_again();
  EXPECT_FALSE(fallback.lost());
  EXPECT_FALSE(fallback.is_due(false, kNow + 1h));
  EXPECT_EQ(fallback.why(), "stage 1");
}

TEST(Fallback, IsGivenUpWhenItLeadsNowhere) {
  Fallback fallback(5s);
  for (std::uint64_t i = 0; i < VainRollBacks::kInVainMax; ++i) EXPECT_TRUE(fallback.throw_back("stage 1", 7));
  EXPECT_FALSE(fallback.throw_back("stage 0", 7));
  EXPECT_EQ(fallback.why(), "stage 1") << "the run was not thrown back for it";
  EXPECT_TRUE(fallback.throw_back("stage 0", 8));
}

}  // namespace
}  // namespace shoal::fallback_test
