// Looks are seldom, and soon when something is near; there is always exactly one Tick that is awaited.
#include "runtime/base/time/next_look.h"

#include <gtest/gtest.h>

#include <map>

namespace shoal::next_look_test {
namespace {

using namespace std::chrono_literals;

// An actor that looks, and its timer.
struct Bench {
  Instant now = Instant{} + 1h;
  NextLook look;
  std::multimap<Instant, int> ticks{{now, 0}};
  int looks = 0;
  bool is_near = false;

  void something_comes_near() {
    if (const auto pause = look.sooner(now)) ticks.emplace(now + *pause, 0);
  }

  void pass(Duration duration) {
    const Instant end = now + duration;
    while (!ticks.empty() && ticks.begin()->first <= end) {
      now = ticks.begin()->first;
      ticks.erase(ticks.begin());
      if (!look.is_awaited(now)) continue;
      ++looks;
      ticks.emplace(now + look.after_look(is_near, now), 0);
    }
    now = end;
  }
};

TEST(NextLook, IsSeldomWhenNothingIsNear) {
  Bench bench;
  bench.pass(2s);
  EXPECT_EQ(bench.looks, 11);
}

TEST(NextLook, IsSoonWhileSomethingIsNear) {
  Bench bench;
  bench.is_near = true;
  bench.pass(1s);
  EXPECT_EQ(bench.looks, 51);
}

TEST(NextLook, ComesSoonerWhenSomethingComesNearAndThenThereIsStillOneTick) {
  Bench bench;
  bench.pass(50ms);
  bench.looks = 0;
  bench.something_comes_near();
  bench.something_comes_near();
  bench.pass(20ms);
  EXPECT_EQ(bench.looks, 1);
  bench.pass(2s);
  EXPECT_EQ(bench.looks, 11);
  EXPECT_EQ(bench.ticks.size(), 1u);
}

TEST(NextLook, KeepsOneTickWheneverSomethingComesNear) {
  Bench bench;
  for (int i = 0; i < 500; ++i) {
    bench.something_comes_near();
    bench.pass(std::chrono::milliseconds(7 * i % 61));
  }
  bench.pass(1s);
  EXPECT_EQ(bench.ticks.size(), 1u);
}

TEST(NextLook, StandsATimerThatIsALittleEarly) {
  NextLook look;
  Instant now = Instant{} + 1h;
  now += look.after_look(false, now);
  EXPECT_TRUE(look.is_awaited(now - 1ms));
  EXPECT_FALSE(look.is_awaited(now - 10ms)) << "a Tick that was overtaken";
}

}  // namespace
}  // namespace shoal::next_look_test
