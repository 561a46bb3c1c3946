// Which orders are obeyed, repeated, kept for later, or stale.
#include "runtime/pipeline/replica/step_orders.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/support/member_bench.h"

namespace shoal::step_orders_test {
namespace {

using Verdict = StepOrders::Verdict;

struct Bed {
  Bed() { standing.membership = Membership::kMember; }
  [[nodiscard]] static OrderId id(std::uint32_t counter, std::uint64_t step = 0) {
    return {kRun, {}, Term{1}, StageId{1}, StepId{step}, Epoch{kGroup, counter}};
  }
  Verdict judge(const StepOrders::Order& order) { return orders.judge(order, standing); }
  // As the replica does with what it obeys.
  void enter(const OrderId& order, StepOrders::Kind kind) {
    orders.enter(order, kind, standing.epoch);
    standing.epoch = order.epoch;
  }

  ReplicaStanding standing{setup_of(kB0)};
  StepOrders orders;
};

TEST(StepOrders, P15ObeysOnlyAHigherEpoch) {
  Bed bed;
  EXPECT_EQ(bed.judge(Open{Bed::id(2)}), Verdict::kObey);
  bed.enter(Bed::id(2), StepOrders::Kind::kOpen);
  EXPECT_EQ(bed.judge(Open{Bed::id(2)}), Verdict::kRepeat);
  EXPECT_EQ(bed.judge(Zero{Bed::id(2)}), Verdict::kIgnore) << "of another kind";
  EXPECT_EQ(bed.orders.stale(), 0U);
  EXPECT_EQ(bed.judge(Zero{Bed::id(1)}), Verdict::kIgnore);
  EXPECT_EQ(bed.orders.stale(), 1U);
  EXPECT_EQ(bed.judge(Zero{Bed::id(3)}), Verdict::kObey);
}

TEST(StepOrders, RepeatsNothingOfTheStepBefore) {
  Bed bed;
  bed.enter(Bed::id(2), StepOrders::Kind::kPrepare);
  EXPECT_TRUE(bed.orders.asks_for_a_sum());
  bed.orders.end_step(bed.standing.epoch);
  EXPECT_FALSE(bed.orders.asks_for_a_sum());
  EXPECT_EQ(bed.judge(Prepare{Bed::id(2), {}}), Verdict::kIgnore);
}

TEST(StepOrders, P25aKeepsTheNewestOneOfTheNextStep) {
  Bed bed;
  for (const std::uint32_t counter : {4U, 5U, 3U}) {
    EXPECT_EQ(bed.judge(Open{Bed::id(counter, 1)}), Verdict::kIgnore);
  }
  EXPECT_EQ(bed.judge(Open{Bed::id(9, 2)}), Verdict::kIgnore) << "two steps ahead: it is given again";
  const auto waiting = bed.orders.take_waiting();
  ASSERT_TRUE(waiting);
  EXPECT_EQ(std::get<Open>(*waiting).order.epoch.counter, 5U);
  EXPECT_FALSE(bed.orders.take_waiting());
}

TEST(StepOrders, P25aKeepsWhatComesBeforeTheOwnAdd) {
  Bed bed;
  bed.standing.membership = Membership::kReady;
  EXPECT_EQ(bed.judge(Prepare{Bed::id(1), {}}), Verdict::kIgnore);
  const auto waiting = bed.orders.take_waiting();
  ASSERT_TRUE(waiting);
  bed.standing.membership = Membership::kMember;
  EXPECT_EQ(bed.judge(*waiting), Verdict::kObey);
}

TEST(StepOrders, P16bKnowsAMissedZeroWhateverWasObeyedSince) {
  Bed bed;
  bed.enter(Bed::id(1), StepOrders::Kind::kOpen);
  bed.enter(Bed::id(5), StepOrders::Kind::kOpen);
  EXPECT_TRUE(bed.orders.has_missed_a_zero({Bed::id(6), Epoch{kGroup, 3}}));
  EXPECT_FALSE(bed.orders.has_missed_a_zero({Bed::id(6), Epoch{kGroup, 1}})) << "nothing came before the first order";
  bed.orders.emptied(Epoch{kGroup, 5});
  EXPECT_FALSE(bed.orders.has_missed_a_zero({Bed::id(6), Epoch{kGroup, 3}}));
}

// Whatever comes in which order, obeyed epochs rise, and each of the highest ones is obeyed once.
TEST(StepOrders, OfAnyOrderObeyRisingEpochs) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  for (int run = 0; run < 200; ++run) {
    Bed bed;
    std::uint32_t highest = 0;
    for (int at = 0; at < 30; ++at) {
      const std::uint32_t counter = 1 + static_cast<std::uint32_t>(random() % 10);
      const StepOrders::Order order = random() % 2 == 0 ? StepOrders::Order(Open{Bed::id(counter)})
                                                        : StepOrders::Order(Prepare{Bed::id(counter), {}});
      const bool is_obeyed = bed.judge(order) == Verdict::kObey;
      ASSERT_EQ(is_obeyed, counter > highest);
      if (is_obeyed) bed.enter(Bed::id(counter), StepOrders::Kind{static_cast<std::uint8_t>(order.index())});
      highest = std::max(highest, counter);
    }
  }
}

}  // namespace
}  // namespace shoal::step_orders_test
