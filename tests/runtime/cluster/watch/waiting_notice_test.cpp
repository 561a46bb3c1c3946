// A person hears why nothing is trained after a few seconds, of every change, and never in a flood.
#include "runtime/cluster/watch/waiting_notice.h"

#include <gtest/gtest.h>

#include "tests/support/supervisor_bench.h"

namespace shoal::waiting_notice_test {
namespace {

using std::chrono::seconds;
using Bench = SupervisorBench;

constexpr Instant kBegin = Instant{} + std::chrono::hours(1);

TEST(WaitingNotice, AShortWaitIsNotWorthAWord) {
  WaitingNotice notice;
  EXPECT_FALSE(notice.is_due("a node", kBegin));
  EXPECT_FALSE(notice.is_due("a node", kBegin + seconds(4)));
  EXPECT_FALSE(notice.is_due("", kBegin + seconds(5)));
  EXPECT_FALSE(notice.is_due("a node", kBegin + seconds(6))) << "another wait";
}

TEST(WaitingNotice, ItIsSaidOnceAndAgainWhenItChanges) {
  WaitingNotice notice;
  EXPECT_FALSE(notice.is_due("two nodes", kBegin));
  EXPECT_TRUE(notice.is_due("two nodes", kBegin + seconds(5)));
  EXPECT_FALSE(notice.is_due("two nodes", kBegin + seconds(600)));
  EXPECT_TRUE(notice.is_due("a node", kBegin + seconds(601)));
}

TEST(WaitingNotice, ManyChangesAreSaidHalfAMinuteApart) {
  WaitingNotice notice;
  int said = 0;
  for (int second = 0; second <= 300; ++second) {
    said += notice.is_due(second % 2 == 0 ? "a node" : "two nodes", kBegin + seconds(second)) ? 1 : 0;
  }
  EXPECT_EQ(said, 10);
}

TEST(WaitingNotice, TheNextWaitIsSaidEvenIfItIsForTheSame) {
  WaitingNotice notice;
  EXPECT_FALSE(notice.is_due("a node", kBegin));
  EXPECT_TRUE(notice.is_due("a node", kBegin + seconds(5)));
  EXPECT_FALSE(notice.is_due("", kBegin + seconds(50)));
  EXPECT_FALSE(notice.is_due("a node", kBegin + seconds(60)));
  EXPECT_TRUE(notice.is_due("a node", kBegin + seconds(65)));
}

TEST(WaitingForNodes, IsToldInTheWordsOfTheStatus) {
  Bench bench;
  bench.later(seconds(60));
  EXPECT_TRUE(bench.told.empty()) << "nobody has come yet: how to start a node has just been printed";
  for (const std::uint64_t number : {1, 2}) bench.join(number);
  bench.later(seconds(1));
  bench.beat({ProcessIncarnation{1}, ProcessIncarnation{2}}, 5);
  ASSERT_EQ(bench.told.size(), 1U);
  EXPECT_EQ(bench.told[0], "waiting for 1 node for stage 0 and 1 node for stage 1, since 66 s");
  bench.join(3);
  bench.beat({ProcessIncarnation{1}, ProcessIncarnation{2}, ProcessIncarnation{3}}, 31);
  ASSERT_EQ(bench.told.size(), 2U);
  EXPECT_TRUE(bench.told[1].starts_with("waiting for 1 node for stage 1, since ")) << bench.told[1];
}

TEST(WaitingForNodes, IsNotToldWhileTheRunTrains) {
  Bench bench;
  bench.train();
  for (int step = 0; step < 2; ++step) {
    bench.beat({ProcessIncarnation{1}, ProcessIncarnation{2}, ProcessIncarnation{3}, ProcessIncarnation{4}}, 9);
    bench.step();
  }
  EXPECT_TRUE(bench.told.empty()) << bench.told[0];
}

}  // namespace
}  // namespace shoal::waiting_notice_test
