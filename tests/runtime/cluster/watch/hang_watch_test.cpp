// A replica that hangs is found by its own past, and no slow one is.
#include "runtime/cluster/watch/hang_watch.h"

#include <gtest/gtest.h>

namespace shoal {
namespace {

using namespace std::chrono_literals;

constexpr Incarnation kReplica{7};
constexpr Duration kLeast = 10s;

// Asked every half second; answers as long after it as the test says.
class Work {
 public:
  void answer_after(Duration took, int times = 1) {
    for (int i = 0; i < times; ++i) {
      EXPECT_TRUE(watch.asks(kReplica, now));
      pass(took);
      watch.answered(kReplica, now);
      pass(500ms);
    }
  }
  // Until it is found, from a question on.
  Duration time_to_find(Duration limit) {
    EXPECT_TRUE(watch.asks(kReplica, now));
    for (Duration passed{}; passed < limit; passed += 500ms) {
      pass(500ms);
      EXPECT_FALSE(watch.asks(kReplica, now)) << "it owes an answer";
      found = watch.find(kLeast, now);
      if (found) return passed + 500ms;
    }
    return limit;
  }
  void pass(Duration time) {
    for (; time > 1s; time -= 1s) {
      now += 1s;
      EXPECT_FALSE(watch.find(kLeast, now));
    }
    now += time;
  }

  Instant now = Instant{} + 1h;
  HangWatch watch;
  std::optional<Hang> found;
};

TEST(HangWatch, FindsWhoIsAtOnePieceOfWorkManyTimesAsLongAsEver) {
  Work work;
  work.answer_after(60ms, 20);
  EXPECT_EQ(work.time_to_find(1min), kLeast) << "20 times 60 ms are less than that";
  EXPECT_EQ(work.found->replica, kReplica);
  EXPECT_EQ(work.found->longest, 60ms);
  Work slow;
  slow.answer_after(1s, 20);
  EXPECT_EQ(slow.time_to_find(1min), 20s);
}

TEST(HangWatch, KnowsNothingOfWhoHasNotWorkedYet) {
  Work idle;
  idle.answer_after(100us, 100);
  EXPECT_EQ(idle.time_to_find(10min), 10min) << "its first piece of work may take that long";
  Work beginner;
  beginner.answer_after(60ms, HangWatch::kWaitsToKnow - 1);
  EXPECT_EQ(beginner.time_to_find(10min), 10min);
}

TEST(HangWatch, LetsASlowOneBe) {
  Work work;
  work.answer_after(1s, 10);
  work.answer_after(19s);  // the machine swaps
  work.answer_after(1s, 10);
  EXPECT_EQ(work.time_to_find(10min), 20 * 19s);
}

TEST(HangWatch, DoesNotCountAPauseOfItsOwn) {
  Work work;
  work.answer_after(60ms, 20);
  EXPECT_TRUE(work.watch.asks(kReplica, work.now));
  work.now += 1h;
  EXPECT_FALSE(work.watch.find(kLeast, work.now));
}

TEST(HangWatch, ForgetsWhoEnded) {
  Work work;
  work.answer_after(60ms, 20);
  EXPECT_TRUE(work.watch.asks(kReplica, work.now));
  work.watch.forget(kReplica);
  work.watch.answered(kReplica, work.now);
  work.pass(1min);
  EXPECT_FALSE(work.watch.find(kLeast, work.now));
  EXPECT_TRUE(work.watch.asks(kReplica, work.now)) << "another life";
}

}  // namespace
}  // namespace shoal
