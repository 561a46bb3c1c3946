// How often a disk that refuses is asked again, and when no more.
#include "runtime/cluster/start_search.h"

#include <gtest/gtest.h>

namespace shoal::start_search_test {
namespace {

using namespace std::chrono_literals;

Instant start() { return Instant{} + 1h; }

TEST(StartSearch, LooksAgainAfterPausesThatGrow) {
  StartSearch search;
  search.begin({7, false});
  EXPECT_FALSE(search.take_due(start())) << "the first look is the caller's";
  Instant now = start();
  for (const Duration pause : {1s, 2s, 4s, 8s, 16s, 30s, 30s}) {
    EXPECT_EQ(search.refused("I/O error", now)->pause, pause);
    EXPECT_FALSE(search.take_due(now + pause - 1ms));
    now += pause;
    const auto look = search.take_due(now);
    ASSERT_TRUE(look);
    EXPECT_EQ(look->not_beyond, 7U);
    EXPECT_FALSE(look->passes_unreadable);
    EXPECT_FALSE(search.take_due(now)) << "once";
  }
  EXPECT_EQ(search.refusal(), "I/O error");
}

TEST(StartSearch, PassesOverInTheEndAndThenIsOver) {
  StartSearch search;
  search.begin({});
  EXPECT_TRUE(search.refused("I/O error", start()));
  const auto next = search.refused("I/O error", start() + StartSearch::kPatience);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->pause, Duration::zero());
  EXPECT_TRUE(next->takes_older);
  EXPECT_FALSE(next->is_endless);
  EXPECT_TRUE(search.take_due(start() + StartSearch::kPatience)->passes_unreadable);
  EXPECT_FALSE(search.refused("I/O error", start() + StartSearch::kPatience));
  search.begin({});
  EXPECT_EQ(search.refused("I/O error", start() + 1h)->pause, 1s) << "another search is patient again";
}

TEST(StartSearch, WaitsWithoutEndWhereOneWasSaved) {
  StartSearch search;
  search.begin({7, false, 5});
  Instant now = start();
  int passed_over = 0, told_after = 0;
  for (int look = 0; look < 1000; ++look) {
    const auto next = search.refused("the folder is away", now);
    ASSERT_TRUE(next);
    EXPECT_LE(next->pause, StartSearch::kLongestPause);
    EXPECT_TRUE(next->is_endless);
    if (passed_over > 0 && next->is_told) ++told_after;
    passed_over += next->takes_older ? 1 : 0;
    now += next->pause;
    const auto wanted = search.take_due(now);
    ASSERT_TRUE(wanted);
    EXPECT_EQ(wanted->saved, 5U);
    EXPECT_EQ(wanted->passes_unreadable, passed_over > 0);
  }
  EXPECT_EQ(passed_over, 1);
  EXPECT_EQ(told_after, 1) << "that no older one is there";
  EXPECT_GT(now, start() + 8h) << "and not all the time";
}

}  // namespace
}  // namespace shoal::start_search_test
