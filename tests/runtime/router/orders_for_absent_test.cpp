// Orders for actors that are down: they wait for a while, and not without a bound.
#include "runtime/router/orders_for_absent.h"

#include <gtest/gtest.h>

namespace shoal::orders_for_absent_test {
namespace {

constexpr Instant kNow = Instant{} + std::chrono::hours(1);

Inject order_for(StageId group, std::uint64_t id) {
  Inject order;
  order.id = id;
  order.target = Address{{}, Role::kSyncGroup, group, {}};
  return order;
}

TEST(OrdersForAbsent, AreGivenToTheActorTheyAreForOrExpire) {
  OrdersForAbsent orders;
  ASSERT_TRUE(orders.keep(order_for(StageId{0}, 1), kNow));
  ASSERT_TRUE(orders.keep(order_for(StageId{1}, 2), kNow));
  const auto taken = orders.take(Address{{}, Role::kSyncGroup, StageId{1}, Incarnation{9}});
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_EQ(taken[0].id, 2U);
  EXPECT_TRUE(orders.take_expired(kNow).empty());
  EXPECT_EQ(orders.take_expired(kNow + OrdersForAbsent::kPatience).size(), 1U);
}

TEST(OrdersForAbsent, S6AreBounded) {
  OrdersForAbsent orders;
  for (std::uint64_t id = 1; id <= OrdersForAbsent::kCountMax; ++id) {
    ASSERT_TRUE(orders.keep(order_for(StageId{0}, id), kNow)) << id;
  }
  EXPECT_FALSE(orders.keep(order_for(StageId{0}, 0), kNow));
  EXPECT_EQ(orders.take(Address{{}, Role::kSyncGroup, StageId{0}, {}}).size(), OrdersForAbsent::kCountMax);
  EXPECT_TRUE(orders.keep(order_for(StageId{0}, 0), kNow)) << "there is room again";
}

}  // namespace
}  // namespace shoal::orders_for_absent_test
