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
    EXPECT_EQ(search.refused("I/O error", now), pause);
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
  EXPECT_EQ(search.refused("I/O error", start() + StartSearch::kPatience), Duration::zero());
  EXPECT_TRUE(search.take_due(start() + StartSearch::kPatience)->passes_unreadable);
  EXPECT_FALSE(search.refused("I/O error", start() + StartSearch::kPatience));
  search.begin({});
  EXPECT_EQ(search.refused("I/O error", start() + 1h), 1s) << "another search is patient again";
}

}  // namespace
}  // namespace shoal::start_search_test
