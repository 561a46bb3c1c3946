// Parts that came early: the highest epoch alone, and never more than the bound.
#include <gtest/gtest.h>

#include "runtime/sync/reduction.h"

namespace shoal::held_parts_test {
namespace {

OrderId order_of(std::uint32_t counter) {
  return OrderId{RunId{7}, Branch{0}, Term{1}, StageId{0}, StepId{3}, Epoch{Incarnation{9}, counter}};
}

TEST(HeldParts, KeepsOnlyTheHighestEpochAndItsBound) {
  static const Bound two{"tests.held_parts", 2};
  HeldParts held(two);
  Part part;
  part.order = order_of(3);
  held.hold(part);
  part.order = order_of(2);
  held.hold(part);
  EXPECT_EQ(held.size(), 1U);
  part.order = order_of(4);
  for (int at = 0; at < 5; ++at) held.hold(part);
  EXPECT_EQ(held.size(), 2U);
  EXPECT_TRUE(held.take(order_of(3).epoch).empty());
  EXPECT_EQ(held.take(order_of(4).epoch).size(), 2U);
  held.hold(part);
  EXPECT_TRUE(held.take(order_of(5).epoch).empty());
  EXPECT_EQ(held.size(), 0U);
}

}  // namespace
}  // namespace shoal::held_parts_test
