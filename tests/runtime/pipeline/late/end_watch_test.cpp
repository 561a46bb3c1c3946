// The verdict that a device hangs, at the edges of its patience.
#include "runtime/pipeline/late/end_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/base/ensure.h"

namespace shoal::end_watch_test {
namespace {

using namespace std::chrono_literals;

// Looks once a second, as the runner does more often, until `end`.
std::optional<std::string> look_until(EndWatch& watch, Instant& now, Instant end) {
  std::optional<std::string> reason;
  for (; now < end; now += 1s) reason = watch.hang(now);
  return watch.hang(now);
}

TEST(EndWatch, JudgesTheOldestFromWhenItBecameTheOldest) {
  EndWatch watch(10s);
  const Instant start{};
  Instant now = start;
  EXPECT_EQ(watch.hang(now), std::nullopt);  // nothing is under way
  watch.begin(now);
  watch.begin(now);
  EXPECT_EQ(look_until(watch, now, start + 10s), std::nullopt);
  const auto reason = look_until(watch, now, start + 11s);
  ASSERT_TRUE(reason);
  EXPECT_THAT(*reason, ::testing::HasSubstr("oldest of 2 jobs has not ended in 11 s, and 10 s are allowed"));
  watch.end(now);
  EXPECT_EQ(look_until(watch, now, start + 21s), std::nullopt);
  EXPECT_TRUE(look_until(watch, now, start + 22s));
  watch.end(now);
  EXPECT_EQ(watch.under_way(), 0U);
  EXPECT_EQ(look_until(watch, now, start + 1min), std::nullopt);
  now = start + 2h;
  watch.begin(now);  // a device that was idle for long begins anew
  EXPECT_EQ(look_until(watch, now, start + 2h + 10s), std::nullopt);
  EXPECT_TRUE(look_until(watch, now, start + 2h + 11s));
}

TEST(EndWatch, TimeInWhichTheProcessDidNotRunIsNoHang) {
  EndWatch watch(10s);
  Instant now{};
  watch.begin(now);
  EXPECT_EQ(watch.hang(now += 1s), std::nullopt);
  EXPECT_EQ(watch.hang(now += 1h), std::nullopt);  // a machine that was suspended: a second of it counts
  EXPECT_EQ(look_until(watch, now, now + 8s), std::nullopt);
  EXPECT_TRUE(look_until(watch, now, now + 1s)) << "control: what is watched counts";
}

TEST(EndWatch, AnEndHasAJob) {
  EndWatch watch(1s);
  EXPECT_THROW(watch.end(Instant{}), Bug);
}

}  // namespace
}  // namespace shoal::end_watch_test
