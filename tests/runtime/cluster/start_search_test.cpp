// How often a disk that refuses is asked again, and when no more; which answers are awaited.
#include "runtime/cluster/start_search.h"

#include <gtest/gtest.h>

namespace shoal::start_search_test {
namespace {

using namespace std::chrono_literals;

Instant start() { return Instant{} + 1h; }

TEST(StartSearch, LooksAgainAfterPausesThatGrow) {
  StartSearch search;
  EXPECT_EQ(search.begin({7, false}, start()).not_beyond, 7U);
  EXPECT_FALSE(search.take_due({}, start())) << "the first look is begun";
  Instant now = start();
  for (const Duration pause : {1s, 2s, 4s, 8s, 16s, 30s, 30s}) {
    EXPECT_EQ(search.refused("I/O error", now)->pause, pause);
    EXPECT_FALSE(search.take_due({}, now + pause - 1ms));
    now += pause;
    const auto look = search.take_due({}, now);
    ASSERT_TRUE(look);
    EXPECT_EQ(look->not_beyond, 7U);
    EXPECT_FALSE(look->passes_unreadable);
    EXPECT_FALSE(search.take_due({}, now)) << "once";
  }
  EXPECT_EQ(search.refusal(), "I/O error");
}

TEST(StartSearch, PassesOverInTheEndAndThenIsOver) {
  StartSearch search;
  (void)search.begin({}, start());
  EXPECT_TRUE(search.refused("I/O error", start()));
  const auto next = search.refused("I/O error", start() + StartSearch::kPatience);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->pause, Duration::zero());
  EXPECT_TRUE(next->takes_older);
  EXPECT_FALSE(next->is_endless);
  EXPECT_TRUE(search.take_due({}, start() + StartSearch::kPatience)->passes_unreadable);
  EXPECT_FALSE(search.refused("I/O error", start() + StartSearch::kPatience));
  (void)search.begin({}, start() + 1h);
  EXPECT_EQ(search.refused("I/O error", start() + 1h)->pause, 1s) << "another search is patient again";
}

TEST(StartSearch, AwaitsOneAnswerToItsNewestLook) {
  StartSearch search;
  EXPECT_FALSE(search.take_answer(0)) << "nobody looks";
  const std::uint64_t first = search.begin({}, start()).look;
  const std::uint64_t second = search.begin({}, start()).look;
  EXPECT_NE(first, second);
  EXPECT_FALSE(search.take_answer(first)) << "its search is over";
  EXPECT_FALSE(search.take_answer(second + 1));
  EXPECT_TRUE(search.take_answer(second));
  EXPECT_FALSE(search.take_answer(second)) << "once";
  (void)search.refused("I/O error", start());
  const std::uint64_t third = search.take_due({}, start() + 1s)->look;
  EXPECT_FALSE(search.take_answer(second));
  const std::uint64_t fourth = search.look_again(3, start() + 2s).look;
  EXPECT_FALSE(search.take_answer(third));
  EXPECT_TRUE(search.take_answer(fourth));
}

TEST(StartSearch, KnowsOfACheckpointThatWasSavedSinceTheLookBegan) {
  StartSearch search;
  (void)search.begin({}, start());
  EXPECT_FALSE(search.is_outdated(std::nullopt));
  EXPECT_TRUE(search.is_outdated(0)) << "the first one";
  EXPECT_EQ(search.look_again(4, start()).saved, 4U);
  EXPECT_FALSE(search.is_outdated(4));
  EXPECT_TRUE(search.is_outdated(5));
}

// Also of the disk that refused before.
TEST(StartSearch, TellsOfItsSilenceOnceForEachLook) {
  StartSearch search;
  EXPECT_FALSE(search.is_silence_news(start() + 9h)) << "nobody looks";
  Instant now = start();
  (void)search.begin({}, now);
  for (int look = 1; look <= 2; ++look) {
    EXPECT_FALSE(search.is_silence_news(now + StartSearch::kSilenceToldAfter - 1ms));
    now += StartSearch::kSilenceToldAfter;
    EXPECT_TRUE(search.is_silence_news(now));
    EXPECT_FALSE(search.is_silence_news(now + 1h));
    (void)search.look_again({}, now);
  }
  ASSERT_TRUE(search.take_answer(3));
  EXPECT_FALSE(search.is_silence_news(now + 1h)) << "it was answered";
}

TEST(StartSearch, WaitsWithoutEndWhereOneWasSaved) {
  StartSearch search;
  (void)search.begin({7, false, 5}, start());
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
    const auto wanted = search.take_due(5, now);
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
