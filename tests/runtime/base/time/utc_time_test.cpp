// Moments as text and back.
#include "runtime/base/time/utc_time.h"

#include <gtest/gtest.h>

#include <random>

namespace shoal::utc_time_test {
namespace {

using std::chrono::milliseconds;

TEST(UtcTime, IsIsoWithMilliseconds) {
  const WallTime day = std::chrono::sys_days(std::chrono::year(2026) / 11 / 5);
  EXPECT_EQ(utc_ms_text(day), "2026-11-05T00:00:00.000Z");
  EXPECT_EQ(utc_ms_text(day + milliseconds(36'062'345)), "2026-11-05T10:01:02.345Z");
  EXPECT_EQ(utc_ms_text(day - milliseconds(1)), "2026-11-04T23:59:59.999Z");
  EXPECT_EQ(utc_ms_text(day + std::chrono::nanoseconds(1'999'999)), "2026-11-05T00:00:00.001Z");
}

TEST(UtcTime, ComesBackFromItsText) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  for (int i = 0; i < 1000; ++i) {
    const WallTime time{milliseconds(random() % 4'000'000'000'000)};
    ASSERT_EQ(parse_utc_ms(utc_ms_text(time)), time) << utc_ms_text(time);
  }
}

TEST(UtcTime, OtherTextsAreNoMoments) {
  for (const char* text : {"", "2026-11-25", "2026-11-25T10:01:02Z", "2026-11-25 10:01:02.345Z",
                           "2026-13-25T10:01:02.345Z", "2026-11-25T10:01:02.345", "2026-11-25T1a:01:02.345Z"}) {
    EXPECT_EQ(parse_utc_ms(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace shoal::utc_time_test
