// Silence counts from the last progress; beginning again is none for ever.
#include "runtime/base/time/progress_watch.h"

#include <gtest/gtest.h>

namespace shoal::progress_watch_test {
namespace {

using namespace std::chrono_literals;

struct Bench {
  Instant now = Instant{} + 1h;
  ProgressWatch watch{now};

  bool after(Duration wait, std::uint64_t bytes) {
    now += wait;
    return watch.seen(bytes, now);
  }
};

TEST(ProgressWatch, SilenceCountsFromTheLastProgress) {
  Bench bench;
  EXPECT_TRUE(bench.after(50s, 1));
  EXPECT_TRUE(bench.after(50s, 2));
  EXPECT_EQ(bench.watch.silence(bench.now + 10s), 10s);
}

TEST(ProgressWatch, WhatIsSaidAgainIsNone) {
  Bench bench;
  EXPECT_FALSE(bench.after(5s, 0)) << "nothing has come yet";
  EXPECT_TRUE(bench.after(5s, 100));
  EXPECT_FALSE(bench.after(5s, 100));
  EXPECT_EQ(bench.watch.silence(bench.now), 5s);
}

TEST(ProgressWatch, BeginningAgainIsProgressAFewTimesThenOnlyWhatGoesBeyond) {
  Bench bench;
  for (int start = 0; start <= ProgressWatch::kRestartsMax; ++start) {
    EXPECT_TRUE(bench.after(1s, 10)) << start;
    EXPECT_TRUE(bench.after(1s, 100)) << start;
  }
  EXPECT_FALSE(bench.after(1s, 10));
  EXPECT_FALSE(bench.after(1s, 100)) << "as far as before";
  EXPECT_EQ(bench.watch.silence(bench.now), 2s);
  EXPECT_TRUE(bench.after(1s, 101));
  EXPECT_EQ(bench.watch.silence(bench.now), 0s);
}

TEST(GivenOnce, IsLostWhenNothingMoreOfItArrivesForSoLongDoubledWithEachRepeat) {
  Instant now = Instant{} + 1h;
  GivenOnce image(10s, now);
  for (const Duration patience : {10s, 20s, 40s}) {
    EXPECT_FALSE(image.is_lost(now + patience - 1ms));
    now += patience;
    EXPECT_TRUE(image.is_lost(now));
    image.given_again(now);
  }
}

TEST(GivenOnce, IsNotLostWhileItArrives) {
  Instant now = Instant{} + 1h;
  GivenOnce image(10s, now);
  for (std::uint64_t bytes = 1; bytes < 100; ++bytes) {
    now += 9s;
    EXPECT_FALSE(image.is_lost(now));
    image.arriving(bytes, now);
  }
  EXPECT_TRUE(image.is_lost(now + 10s));
}

TEST(GivenOnce, SilenceOfBeforeTheGiverListenedCountsNothing) {
  const Instant start = Instant{} + 1h;
  const GivenOnce image(10s, start);
  EXPECT_FALSE(image.is_lost(start + 15s, start + 6s));
  EXPECT_TRUE(image.is_lost(start + 16s, start + 6s));
}

}  // namespace
}  // namespace shoal::progress_watch_test
