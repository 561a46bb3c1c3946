// The offset of two clocks from round trips: right within half of the round trip, whatever the ways took.
#include "runtime/trace/clock_offset.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace shoal::clock_offset_test {
namespace {

constexpr std::int64_t kAhead = 5'000'000'000;  // lead of the other clock

// A question sent at `sent` whose ways took so long.
HeartbeatEcho echo_of(std::int64_t sent, std::int64_t there, std::int64_t pause) {
  return {ProcessIncarnation{1}, 1, sent, sent + there + kAhead, sent + there + pause + kAhead};
}

TEST(ClockOffset, IsExactWhenBothWaysTakeTheSame) {
  ClockOffsets offsets;
  const auto told = offsets.hear(echo_of(1000, 300, 50), 1000 + 300 + 50 + 300);
  ASSERT_TRUE(told);
  EXPECT_EQ(told->ahead_ns, kAhead);
  EXPECT_EQ(told->round_trip_ns, 600U);
}

TEST(ClockOffset, IsToldOnlyWhenItIsBetterOrOld) {
  ClockOffsets offsets;
  EXPECT_TRUE(offsets.hear(echo_of(1'000, 500, 0), 2'000));
  EXPECT_FALSE(offsets.hear(echo_of(3'000, 900, 0), 4'800)) << "a longer round trip";
  EXPECT_TRUE(offsets.hear(echo_of(5'000, 100, 0), 5'200));
  EXPECT_TRUE(offsets.hear(echo_of(70'000'000'000, 900, 0), 70'000'001'800)) << "after a minute";
}

TEST(ClockOffset, OfTimesThatCannotBeIsNotBelieved) {
  ClockOffsets offsets;
  EXPECT_FALSE(offsets.hear(echo_of(0, 500, 0), 1'000)) << "the heartbeat carried no time";
  EXPECT_FALSE(offsets.hear(echo_of(1'000, 500, 0), 900)) << "answered before it was asked";
  EXPECT_FALSE(offsets.hear(echo_of(1'000, 500, -10), 2'000)) << "replied before it was received";
}

TEST(ClockOffset, IsNeverFurtherOffThanHalfTheRoundTrip) {
  const unsigned seed = std::random_device{}();
  std::cout << "seed " << seed << '\n';
  std::mt19937_64 random(seed);
  for (int round = 0; round < 1000; ++round) {
    const auto draw = [&](std::int64_t below) {
      return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(below));
    };
    const std::int64_t there = draw(10'000'000);
    const std::int64_t back = draw(10'000'000);
    const std::int64_t pause = draw(1'000'000);
    const std::int64_t sent = 1 + draw(1'000'000'000);
    ClockOffsets offsets;
    const auto told = offsets.hear(echo_of(sent, there, pause), sent + there + pause + back);
    ASSERT_TRUE(told);
    EXPECT_LE(std::abs(told->ahead_ns - kAhead), static_cast<std::int64_t>(told->round_trip_ns / 2 + 1));
  }
}

}  // namespace
}  // namespace shoal::clock_offset_test
