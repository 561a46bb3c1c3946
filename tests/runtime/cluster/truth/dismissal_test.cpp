// When storage is told to go and the spawner ends, by who is left and how long that has lasted.
#include "runtime/cluster/truth/dismissal.h"

#include <gtest/gtest.h>

namespace shoal::dismissal_test {
namespace {

using namespace std::chrono_literals;

constexpr Instant kEnd = Instant{} + 1h;
constexpr Dismissal::Company kAll{true, true}, kStorage{false, true}, kNobody{false, false};

Dismissal begun(bool is_handed_over = false) {
  Dismissal dismissal(3s, 5s);
  dismissal.begin(EndRun{0, "all steps are committed", is_handed_over}, kEnd);
  return dismissal;
}

TEST(Dismissal, StorageGoesAfterTheNodes) {
  const Dismissal dismissal = begun();
  EXPECT_FALSE(dismissal.decide(kAll, kEnd + 1s).goes_storage);
  EXPECT_TRUE(dismissal.decide(kStorage, kEnd + 1s).goes_storage);
  EXPECT_TRUE(dismissal.decide(kAll, kEnd + 3s).goes_storage) << "it does not wait for ever";
}

TEST(Dismissal, TheSpawnerWaitsForTheOthersButNotForEver) {
  const Dismissal dismissal = begun();
  EXPECT_FALSE(dismissal.decide(kAll, kEnd + 4s).is_over);
  EXPECT_FALSE(dismissal.decide(kStorage, kEnd + 4s).is_over);
  EXPECT_TRUE(dismissal.decide(kNobody, kEnd + 4s).is_over);
  EXPECT_TRUE(dismissal.decide(kAll, kEnd + 5s).is_over);
}

TEST(Dismissal, ItsLastWordsAreReadFirst) {
  const Dismissal dismissal = begun();
  EXPECT_FALSE(dismissal.decide(kNobody, kEnd).is_over);
  EXPECT_TRUE(dismissal.decide(kNobody, kEnd + Dismissal::kLastWords).is_over);
}

TEST(Dismissal, WhoHandsOverEndsAlone) {
  const Dismissal dismissal = begun(true);
  EXPECT_FALSE(dismissal.decide(kAll, kEnd).is_over);
  EXPECT_TRUE(dismissal.decide(kAll, kEnd + Dismissal::kLastWords).is_over);
  EXPECT_FALSE(dismissal.decide(kAll, kEnd + 4s).goes_storage);
  EXPECT_FALSE(dismissal.decide(kStorage, kEnd + 4s).goes_storage);
}

TEST(Dismissal, StorageHasDoneItsPartUnlessTheRunGoesOn) {
  for (const std::uint32_t status : {0U, 1U, 3U, 70U}) {
    Dismissal dismissal(3s, 5s);
    dismissal.begin(EndRun{static_cast<int>(status), "why", false, status}, kEnd);
    EXPECT_EQ(dismissal.is_for_good(), status != 1);
    EXPECT_EQ(dismissal.status_of(ProcessRole::kNode), status);
    EXPECT_EQ(dismissal.status_of(ProcessRole::kStorage), status == 1 ? 1U : 0U);
  }
}

TEST(Dismissal, WhoAsksAboutAnEndedRunIsWaitedForUnseen) {
  Dismissal dismissal = begun();
  dismissal.expect_questions();
  EXPECT_FALSE(dismissal.decide(kNobody, kEnd + 4s).is_over);
  EXPECT_TRUE(dismissal.decide(kNobody, kEnd + 5s).is_over);
}

}  // namespace
}  // namespace shoal::dismissal_test
