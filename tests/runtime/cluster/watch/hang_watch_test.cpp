// A replica that hangs is found by its own past, and no slow one is.
#include "runtime/cluster/watch/hang_watch.h"

#include <gtest/gtest.h>

namespace shoal::hang_watch_test {
namespace {

using namespace std::chrono_literals;

constexpr Incarnation kReplica{7};
constexpr Duration kLeast = 10s;
constexpr Duration kLook = 500ms;

struct Work {
  // Until it is found, from a question on that it does not answer.
  Duration time_to_find(Duration limit) {
    EXPECT_TRUE(watch.asks(kReplica, now));
    for (Duration passed = kLook; passed < limit; passed += kLook) {
      now += kLook;
      EXPECT_FALSE(watch.asks(kReplica, now)) << "it owes an answer";
      found = watch.find(kLeast, now);
      if (found) return passed;
    }
    return limit;
  }
  void answer(std::uint64_t pieces, Duration longest) {
    EXPECT_TRUE(watch.asks(kReplica, now));
    watch.answered(kReplica, pieces, longest);
  }

  Instant now = Instant{} + 1h;
  HangWatch watch;
  std::optional<Hang> found;
};

TEST(HangWatch, FindsWhoIsAtOnePieceOfWorkManyTimesAsLongAsEver) {
  Work work;
  work.answer(20, 60ms);
  EXPECT_EQ(work.time_to_find(1min), kLeast) << "20 times 60 ms are less than that";
  EXPECT_EQ(work.found->replica, kReplica);
  EXPECT_EQ(work.found->longest, 60ms);
  Work slow;
  slow.answer(20, 1s);
  EXPECT_EQ(slow.time_to_find(1min), 20s);
}

TEST(HangWatch, KnowsNothingOfWhoHasHardlyWorkedAndGivesItAnHour) {
  Work idle;
  idle.answer(0, 0ms);
  EXPECT_EQ(idle.time_to_find(2h), 1h) << "its first piece of work may take that long";
  Work beginner;
  beginner.answer(HangWatch::kPiecesToKnow - 1, 60ms);
  EXPECT_EQ(beginner.time_to_find(2h), 1h);
  Work slow;
  slow.answer(1, 10min);
  EXPECT_EQ(slow.time_to_find(4h), 20 * 10min);
}

TEST(HangWatch, LetsASlowOneBe) {
  Work work;
  work.answer(100, 19s);  // the machine swapped once
  EXPECT_EQ(work.time_to_find(10min), 20 * 19s);
}

TEST(HangWatch, DoesNotCountAPauseOfItsOwn) {
  Work work;
  work.answer(20, 60ms);
  EXPECT_TRUE(work.watch.asks(kReplica, work.now));
  work.now += 1h;
  EXPECT_FALSE(work.watch.find(kLeast, work.now));
}

TEST(HangWatch, BelievesALateAnswerAndForgetsWhoEnded) {
  Work work;
  work.answer(20, 60ms);
  EXPECT_EQ(work.time_to_find(1min), kLeast);
  work.watch.answered(kReplica, 21, 10s);
  EXPECT_FALSE(work.watch.find(kLeast, work.now));
  EXPECT_TRUE(work.watch.asks(kReplica, work.now));
  work.watch.forget(kReplica);
  work.watch.answered(kReplica, 22, 60ms);
  EXPECT_FALSE(work.watch.find(kLeast, work.now + 1h));
  EXPECT_TRUE(work.watch.asks(kReplica, work.now)) << "another life";
}

}  // namespace
}  // namespace shoal::hang_watch_test
