// Silence counts from the last progress; beginning again is none for ever.
#include "runtime/base/progress_watch.h"

#include <gtest/gtest.h>

namespace shoal {
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

}  // namespace
}  // namespace shoal
