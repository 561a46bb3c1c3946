// The room in which Forwards wait for their step or their sender.
#include "runtime/pipeline/replica/early_forwards.h"

#include <gtest/gtest.h>

#include "runtime/pipeline/replica_fill.h"
#include "tests/support/member_bench.h"

namespace shoal::early_forwards_test {
namespace {

TEST(EarlyForwards, KeepsTheNewestOfARepeat) {
  EarlyForwards early(kMicrobatches);
  Forward forward = forward_to(kB0, 2, 1);
  early.hold(forward, {});
  forward.cause.attempt = 1;
  early.hold(forward, {});
  EXPECT_EQ(early.size(), 1U);
  EXPECT_EQ(early.take().begin()->second.forward.cause.attempt, 1U);
  EXPECT_EQ(early.size(), 0U);
}

TEST(EarlyForwards, TellsThemApartByPurposeMicrobatchAndSender) {
  EarlyForwards early(kMicrobatches);
  early.hold(forward_to(kB0, 2, 1, kA0), {});
  early.hold(forward_to(kB0, 2, 1, kA1), {});
  early.hold(forward_to(kB0, 3, 1, kA0), {});
  early.hold(evaluation_to(kB0, 2, 1), {});
  EXPECT_EQ(early.size(), 4U);
  EXPECT_TRUE(early.holds(Purpose::kEvaluate, MicrobatchId{2}, kA0));
  EXPECT_FALSE(early.holds(Purpose::kEvaluate, MicrobatchId{3}, kA0));
}

TEST(EarlyForwards, HaveRoomForARepeatWhenTheyAreFull) {
  EarlyForwards early(kMicrobatches);
  std::uint32_t at = 0;
  for (; early.has_room_for(evaluation_to(kB0, at, 1)); ++at) early.hold(evaluation_to(kB0, at, 1), {});
  EXPECT_EQ(early.size(), early.size_max());
  EXPECT_EQ(early.size_max(), 2 * kMicrobatches + kWaitingMax);
  EXPECT_TRUE(early.has_room_for(evaluation_to(kB0, 0, 1)));
  EXPECT_FALSE(early.has_room_for(evaluation_to(kB0, at, 1)));
}

}  // namespace
}  // namespace shoal::early_forwards_test
