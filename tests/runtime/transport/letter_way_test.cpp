// Every message goes the way that the codec's buffers ask for.
#include "runtime/transport/lanes/letter_way.h"

#include <random>

#include <gtest/gtest.h>

#include "messages/codec.h"
#include "tests/messages/samples.h"

namespace shoal {
namespace {

TEST(LetterWay, IsTheLanesForAllTensors) {
  std::mt19937_64 random(1);
  int with_tensors = 0;
  for (const MessageBody& body : samples::every_body(random)) {
    const bool has_tensors = !encode(Letter{{}, {}, body}).buffers.empty();
    EXPECT_EQ(way_of(body) == LetterWay::kLane, has_tensors) << body.index();
    with_tensors += has_tensors ? 1 : 0;
  }
  EXPECT_GT(with_tensors, 5);
}

TEST(LetterWay, IsTheLinksForAMessageWithoutItsTensor) {
  EXPECT_EQ(way_of(Backward{}), LetterWay::kLink) << "to the data loader";
  EXPECT_EQ(way_of(FileChunk{}), LetterWay::kLink);
}

}  // namespace
}  // namespace shoal
