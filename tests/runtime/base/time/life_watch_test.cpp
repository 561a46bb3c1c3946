// When a keeper kills a process that shows no sign of life.
#include "runtime/base/time/life_watch.h"

#include <gtest/gtest.h>

#include <random>

namespace shoal::life_watch_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kAllowed = seconds(10);

// A keeper that looks once a second.
class LifeWatched : public testing::Test {
 protected:
  void look_for(int times, std::optional<Duration> sign = std::nullopt) {
    for (int second = 0; second < times; ++second) watch.look(sign, now += seconds(1));
  }
  [[nodiscard]] bool is_too_long() const { return watch.silent_too_long().has_value(); }

  LifeWatch watch;
  Instant now{seconds(1'000)};
};

TEST_F(LifeWatched, SilenceIsTooLongWhenItLastsAsLongAsWasAllowed) {
  look_for(3, kAllowed);
  look_for(9);
  EXPECT_FALSE(is_too_long());
  look_for(1);
  ASSERT_TRUE(is_too_long());
  EXPECT_EQ(*watch.silent_too_long(), kAllowed);
}

TEST_F(LifeWatched, OneThatIsHeardInTimeIsLeftAlone) {
  look_for(1, kAllowed);
  look_for(9);
  look_for(1, kAllowed);
  look_for(9);
  EXPECT_FALSE(is_too_long());
}

TEST_F(LifeWatched, BeforeTheFirstSignNothingIsExpected) {
  look_for(1'000);
  EXPECT_FALSE(is_too_long());
}

TEST_F(LifeWatched, AfterASignThatAllowsAnySilenceNothingIsExpected) {
  look_for(1, kAllowed);
  look_for(1, LifeWatch::kAnySilence);
  look_for(1'000);
  EXPECT_FALSE(is_too_long());
}

// Both were frozen: when they wake, the keeper may look first.
TEST_F(LifeWatched, WhatAKeeperSleptThroughDoesNotCount) {
  look_for(1, kAllowed);
  look_for(5);
  now += std::chrono::hours(8);
  look_for(1);
  EXPECT_FALSE(is_too_long());
  look_for(1);
  EXPECT_FALSE(is_too_long()) << "it has a moment to show a sign";
  look_for(2);
  EXPECT_TRUE(is_too_long()) << "the control: it counts again";
}

TEST_F(LifeWatched, NobodyIsKilledForASilenceOfAMoment) {
  look_for(1, milliseconds(100));
  look_for(2);
  EXPECT_FALSE(is_too_long());
  look_for(1);
  EXPECT_TRUE(is_too_long());
}

// Compares with a count of the seconds since the last sign.
TEST_F(LifeWatched, AgreesWithACountOfSecondsWhateverComes) {
  const unsigned seed = std::random_device{}();
  RecordProperty("seed", static_cast<int>(seed));
  std::mt19937 random(seed);
  for (int trial = 0; trial < 200; ++trial) {
    watch = LifeWatch();
    std::optional<int> silent;
    for (int second = 0; second < 60; ++second) {
      const bool is_heard = random() % 8 == 0;
      look_for(1, is_heard ? std::optional(kAllowed) : std::nullopt);
      if (is_heard) silent = 0;
      if (!is_heard && silent) ++*silent;
      ASSERT_EQ(is_too_long(), silent.value_or(0) >= 10) << "seed " << seed;
    }
  }
}

}  // namespace
}  // namespace shoal::life_watch_test
