// Images that a replica gives in pieces: found by taker and version, bounded, and dropped when nobody asks.
#include "runtime/pipeline/replica/state/given_pieces.h"

#include <gtest/gtest.h>

namespace shoal::given_pieces_test {
namespace {

using namespace std::chrono_literals;

constexpr Incarnation kJoiner{29}, kStorage{};

Instant start() { return Instant{} + 1h; }

GivenPieces::Image image_of(Incarnation taker, std::uint64_t version) {
  TensorBlob bytes{DType::kUint8, {100}, std::make_shared<AlignedBuffer>(100)};
  return {taker, {version, 0, 0, 0}, std::make_shared<WholeImage>(std::move(bytes))};
}

TEST(GivenPieces, FindsAnImageByItsTakerAndVersion) {
  GivenPieces given;
  given.begin(image_of(kJoiner, 3), start());
  given.begin(image_of(kStorage, 4), start());
  ASSERT_NE(given.find(kJoiner, 3), nullptr);
  EXPECT_NE(given.find(kStorage, 4), nullptr);
  EXPECT_EQ(given.find(kJoiner, 4), nullptr);
  EXPECT_EQ(given.find(kStorage, 3), nullptr);
  given.end(kJoiner);
  EXPECT_EQ(given.find(kJoiner, 3), nullptr);
  EXPECT_NE(given.find(kStorage, 4), nullptr);
}

TEST(GivenPieces, AQuestionThatANewerOneOvertookIsNotAnswered) {
  GivenPieces given;
  given.begin(image_of(kJoiner, 3), start());
  GivenPieces::Image& image = *given.find(kJoiner, 3);
  EXPECT_TRUE(GivenPieces::is_due(image, 40, 20, start()));
  EXPECT_TRUE(GivenPieces::is_due(image, 20, 20, start()));
  EXPECT_FALSE(GivenPieces::is_due(image, 10, 10, start())) << "what is before 20 was released";
  EXPECT_FALSE(GivenPieces::is_due(image, 100, 60, start())) << "behind its end";
  EXPECT_FALSE(GivenPieces::is_due(image, 500, 700, start()));
  EXPECT_EQ(image.held, 100U) << "never more than there is";
}

TEST(GivenPieces, S6GivesSoManyAtATime) {
  GivenPieces given;
  for (std::uint64_t version = 0; version <= GivenPieces::kImagesMax; ++version) {
    given.begin(image_of(kStorage, version), start());
  }
  EXPECT_EQ(given.size(), GivenPieces::kImagesMax);
  EXPECT_EQ(given.find(kStorage, 0), nullptr) << "the oldest gave way";
  given.begin(image_of(kStorage, 5), start());
  EXPECT_EQ(given.size(), GivenPieces::kImagesMax) << "once for each taker and version";
  EXPECT_NE(given.find(kStorage, 1), nullptr);
}

TEST(GivenPieces, KeepsWhatArrivesHoweverLongNobodyAsks) {
  GivenPieces given;
  given.begin(image_of(kJoiner, 3), start());
  given.begin(image_of(kStorage, 3), start());
  given.begin(image_of(kStorage, 4), start());
  for (Instant now = start(); now < start() + 1h; now += 1min) {
    given.arriving(kStorage, now);
    given.drop_silent(now);
  }
  EXPECT_NE(given.find(kStorage, 3), nullptr);
  EXPECT_NE(given.find(kStorage, 4), nullptr) << "it comes behind the other";
  EXPECT_EQ(given.find(kJoiner, 3), nullptr) << "another taker";
}

TEST(GivenPieces, DropsWhatNobodyAsksFor) {
  GivenPieces given;
  given.begin(image_of(kJoiner, 3), start());
  given.begin(image_of(kStorage, 3), start());
  EXPECT_TRUE(GivenPieces::is_due(*given.find(kJoiner, 3), 0, 0, start() + 1s));
  given.drop_silent(start() + GivenPieces::kSilence);
  EXPECT_NE(given.find(kJoiner, 3), nullptr);
  EXPECT_EQ(given.find(kStorage, 3), nullptr);
}

}  // namespace
}  // namespace shoal::given_pieces_test
