// What a donor gives to whom: one image, then the sum of every later step, within its bounds.
#include "runtime/sync/state_feed.h"

#include <gtest/gtest.h>

namespace shoal::state_feed_test {
namespace {

using namespace std::chrono_literals;

constexpr Incarnation kSelf{9}, kFirst{4};
const std::vector<std::string> kNames{"w"};

Instant start() { return Instant{} + 1h; }

FetchState wish(std::uint64_t held = 0) { return {kSelf, held, kNames, kFirst, {}}; }
FetchState word(std::uint64_t held) { return {kSelf, held, {}, kFirst, {}}; }
using Answer = StateFeeds::Answer;

TEST(StateFeeds, AnImpatientJoinerGetsOneImage) {
  StateFeeds feeds;
  EXPECT_EQ(feeds.hear(wish(), 7, start()), Answer::kImage);
  EXPECT_EQ(feeds.hear(wish(), 9, start() + 10s), Answer::kNothing);
  EXPECT_EQ(feeds.hear(wish(), 9, start() + StateFeeds::kImageLost), Answer::kImage) << "it must be lost";
  EXPECT_EQ(feeds.hear(wish(), 9, start() + 2 * StateFeeds::kImageLost), Answer::kNothing) << "the next one has longer";
}

TEST(StateFeeds, AnImageOlderThanWhatIsAskedForIsReplacedOnce) {
  StateFeeds feeds;
  EXPECT_EQ(feeds.hear(wish(), 3, start()), Answer::kImage);
  EXPECT_EQ(feeds.hear(wish(3), 5, start()), Answer::kNothing) << "it is of that state";
  EXPECT_EQ(feeds.hear(wish(5), 5, start()), Answer::kImage);
  EXPECT_EQ(feeds.hear(wish(5), 6, start() + 1s), Answer::kNothing);
}

TEST(StateFeeds, AnImageThatArrivesIsNotGivenAgainHoweverLongItTakes) {
  StateFeeds feeds;
  Instant now = start();
  EXPECT_EQ(feeds.hear(wish(), 7, now), Answer::kImage);
  for (std::uint64_t bytes = 1; bytes <= 100; ++bytes) {
    now += StateFeeds::kImageLost - 1s;
    feeds.arriving(kSelf, bytes, now);
    EXPECT_EQ(feeds.hear(wish(), 7, now), Answer::kNothing);
  }
  now += StateFeeds::kImageLost;
  feeds.arriving(kSelf, 100, now);
  EXPECT_EQ(feeds.hear(wish(), 7, now), Answer::kImage) << "the control: no more of it has come";
}

// Sums that would pile up behind an image are not sent; that is no reason for another image.
TEST(StateFeeds, StepsThatPassAnImageOnItsWayGetItsJoinerNoSecondOne) {
  StateFeeds feeds;
  EXPECT_EQ(feeds.hear(wish(), 0, start()), Answer::kImage);
  std::size_t fed = 0;
  for (std::uint64_t version = 1; version <= 300; ++version) {
    const auto portions = feeds.feed(version, StateFeeds::kUnheldBytesMax / 2);
    fed += portions.fed.size();
    EXPECT_TRUE(portions.cut.empty()) << "it would ask another donor for an image";
    EXPECT_EQ(feeds.hear(wish(), version, start() + 1s), Answer::kNothing);
  }
  EXPECT_EQ(fed, 2U);
  EXPECT_EQ(feeds.hear(word(2), 300, start() + 2s), Answer::kRefuse) << "now it knows that it must copy again";
  EXPECT_EQ(feeds.hear(wish(2), 300, start() + 3s), Answer::kImage);
}

TEST(StateFeeds, AJoinerThatHadItsImageGetsAnotherWhenItMustCopyAgain) {
  StateFeeds feeds;
  EXPECT_EQ(feeds.hear(wish(), 0, start()), Answer::kImage);
  EXPECT_EQ(feeds.hear(word(0), 0, start()), Answer::kNothing);
  EXPECT_EQ(feeds.hear(wish(0), 1, start()), Answer::kImage);
}

TEST(StateFeeds, FeedsEveryLaterStepUntilTheEnd) {
  StateFeeds feeds;
  EXPECT_TRUE(feeds.feed(1, 8).fed.empty());
  (void)feeds.hear(wish(), 1, start());
  EXPECT_EQ(feeds.feed(2, 8).fed, std::vector{kSelf});
  feeds.end(kSelf);
  EXPECT_TRUE(feeds.feed(3, 8).fed.empty());
}

TEST(StateFeeds, StopsBeforeSumsPileUpAndGoesOnWithOneThatKeepsUp) {
  for (const bool keeps_up : {true, false}) {
    StateFeeds feeds;
    (void)feeds.hear(wish(), 0, start());
    (void)feeds.hear(word(0), 0, start());
    const std::size_t bytes = StateFeeds::kUnheldBytesMax / 4;
    bool was_cut = false;
    for (std::uint64_t version = 1; version <= 10; ++version) {
      was_cut = was_cut || !feeds.feed(version, bytes).cut.empty();
      if (keeps_up) (void)feeds.hear(word(version), version, start());
    }
    EXPECT_NE(was_cut, keeps_up);
  }
  StateFeeds large;
  (void)large.hear(wish(), 0, start());
  EXPECT_EQ(large.feed(1, 2 * StateFeeds::kUnheldBytesMax).fed.size(), 1U) << "two in any case";
}

TEST(StateFeeds, TakesOverAJoinerThatIsWhereItIsItselfAndNoOther) {
  StateFeeds feeds;
  EXPECT_EQ(feeds.hear(word(6), 7, start()), Answer::kRefuse);
  EXPECT_EQ(feeds.hear(word(7), 7, start()), Answer::kNothing);
  EXPECT_EQ(feeds.feed(8, 8).fed, std::vector{kSelf});
}

TEST(StateFeeds, FourJoinersAtATimeAndTheSilentOnesMakeRoom) {
  StateFeeds feeds;
  const auto ask = [&](std::uint64_t joiner, Instant at) {
    return feeds.hear({Incarnation{joiner}, 0, kNames, kFirst, {}}, 1, at);
  };
  for (std::uint64_t joiner = 1; joiner <= StateFeeds::kFeedsMax; ++joiner) {
    EXPECT_EQ(ask(joiner, start()), Answer::kImage);
  }
  EXPECT_EQ(ask(77, start()), Answer::kRefuse);
  EXPECT_EQ(ask(77, start() + StateFeeds::kGone), Answer::kImage);
}

TEST(StateFeeds, OneThatIsSilentForLongIsForgottenThoughNobodyAsks) {
  StateFeeds feeds;
  EXPECT_EQ(feeds.hear(wish(), 7, start()), Answer::kImage);
  feeds.arriving(kSelf, 1, start() + 1min);
  feeds.drop_silent(start() + StateFeeds::kGone);
  EXPECT_FALSE(feeds.is_empty()) << "its image was seen to arrive";
  feeds.drop_silent(start() + 1min + StateFeeds::kGone);
  EXPECT_TRUE(feeds.is_empty());
}

}  // namespace
}  // namespace shoal::state_feed_test
