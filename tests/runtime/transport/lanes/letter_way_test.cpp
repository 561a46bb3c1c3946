// Every message goes the way that the codec's buffers ask for, but for those that follow tensors.
#include "runtime/transport/lanes/letter_way.h"

#include <random>

#include <gtest/gtest.h>

#include "messages/codec.h"
#include "tests/messages/samples.h"

namespace shoal::letter_way_test {
namespace {

TEST(LetterWay, IsTheLanesForAllTensorsAndForWhatFollowsThem) {
  std::mt19937_64 random(1);
  int with_tensors = 0;
  for (const MessageBody& body : samples::every_body(random)) {
    const bool has_tensors = !encode(Letter{{}, {}, body}).buffers.empty();
    const bool follows_them = std::holds_alternative<Ask>(body) || std::holds_alternative<AskAnswer>(body) ||
                              std::holds_alternative<Backward>(body);
    EXPECT_EQ(way_of(body) == LetterWay::kLane, has_tensors || follows_them) << body.index();
    with_tensors += has_tensors ? 1 : 0;
  }
  EXPECT_GT(with_tensors, 5);
}

TEST(LetterWay, IsTheLinksForAMessageWithoutItsTensor) {
  EXPECT_EQ(way_of(FileChunk{}), LetterWay::kLink);
  EXPECT_EQ(way_of(Backward{}), LetterWay::kLane) << "of an evaluation: an answer to an Ask must not overtake it";
}

}  // namespace
}  // namespace shoal::letter_way_test
