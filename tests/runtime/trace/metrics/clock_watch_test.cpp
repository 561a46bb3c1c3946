// A clock that is set while a process runs is told from time that passes.
#include "runtime/trace/metrics/clock_watch.h"

#include <gtest/gtest.h>

namespace shoal::clock_watch_test {
namespace {

BothClocks at(int ms, int set_by_ms = 0) {
  return {WallTime{} + std::chrono::milliseconds(ms + set_by_ms), Instant{} + std::chrono::milliseconds(ms)};
}

TEST(ClockWatch, SaysByHowMuchAClockWasSetAndOnce) {
  ClockWatch watch;
  EXPECT_EQ(watch.set_by_ms(at(0, 5000)), 0) << "nothing was taken yet";
  watch.take(at(0));
  EXPECT_EQ(watch.set_by_ms(at(3'600'000)), 0) << "time passed";
  EXPECT_EQ(watch.set_by_ms(at(1000, 5000)), 5000);
  EXPECT_EQ(watch.set_by_ms(at(1000, -5000)), -5000);
  watch.take(at(1000, 5000));
  EXPECT_EQ(watch.set_by_ms(at(2000, 5000)), 0);
  EXPECT_EQ(watch.set_by_ms(at(2000)), -5000) << "set back to where it was";
}

// A process may be held between its looks at the two clocks; a clock that is corrected again and again is not.
TEST(ClockWatch, AddsUpWhatIsTooLittleToTell) {
  ClockWatch watch;
  watch.take(at(0));
  watch.take(at(10, 400));
  EXPECT_EQ(watch.set_by_ms(at(20, 800)), 0);
  watch.take(at(20, 800));
  EXPECT_EQ(watch.set_by_ms(at(30, 1200)), 1200);
}

}  // namespace
}  // namespace shoal::clock_watch_test
