// One image for whoever asks again and again, and another only when nothing of the first arrives.
#include "runtime/storage/given_images.h"

#include <gtest/gtest.h>

namespace shoal::given_images_test {
namespace {

using namespace std::chrono_literals;

constexpr Incarnation kOne{5}, kOther{6};

TEST(GivenImages, OneIsEnoughForWhoeverIsImpatient) {
  GivenImages images;
  const Instant start = Instant{} + 1h;
  EXPECT_TRUE(images.is_due(kOne, start));
  images.given(kOne, start);
  EXPECT_FALSE(images.is_due(kOne, start + 3s));
  EXPECT_TRUE(images.is_due(kOther, start + 3s)) << "who was given none";
  EXPECT_TRUE(images.is_due(kOne, start + GivenImages::kLost)) << "nothing of it arrived: it is lost";
}

TEST(GivenImages, AnImageThatArrivesIsNotLostHoweverLongItTakes) {
  GivenImages images;
  Instant now = Instant{} + 1h;
  images.given(kOne, now);
  for (std::uint64_t piece = 1; piece <= 1000; ++piece) {
    now += 2s;
    images.arriving(kOne, piece << 20U, now);
    EXPECT_FALSE(images.is_due(kOne, now + 1s));
  }
  EXPECT_TRUE(images.is_due(kOne, now + GivenImages::kLost));
}

TEST(GivenImages, EachRepeatHasTwiceAsLong) {
  GivenImages images;
  Instant now = Instant{} + 1h;
  Duration patience = GivenImages::kLost;
  for (int repeat = 0; repeat < 4; ++repeat) {
    images.given(kOne, now);
    EXPECT_FALSE(images.is_due(kOne, now + patience - 1ms));
    now += patience;
    EXPECT_TRUE(images.is_due(kOne, now));
    patience *= 2;
  }
}

// Reading takes its time, for one replica after the other; questions of that time wait in the mailbox.
TEST(GivenImages, QuestionsThatWaitedWhileAnotherWasServedGetNoSecondImage) {
  GivenImages images;
  Instant now = Instant{} + 1h;
  images.given(kOne, now);
  now += 10s;
  images.given(kOther, now);
  EXPECT_FALSE(images.is_due(kOne, now)) << "asked before";
  EXPECT_TRUE(images.is_due(kOne, now + GivenImages::kLost));
}

TEST(GivenImages, S6RemembersSoMany) {
  GivenImages images;
  const Instant now = Instant{} + 1h;
  for (std::uint64_t replica = 1; replica <= GivenImages::kReplicasMax + 1; ++replica) {
    images.given(Incarnation{replica}, now);
  }
  EXPECT_TRUE(images.is_due(Incarnation{1}, now)) << "the oldest is forgotten";
  EXPECT_FALSE(images.is_due(Incarnation{2}, now));
}

}  // namespace
}  // namespace shoal::given_images_test
