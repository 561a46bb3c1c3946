// Numbers are given once, the next block is wanted while some are left, and those of earlier terms are known (P-4).
#include "runtime/cluster/number_block.h"

#include <gtest/gtest.h>

namespace shoal::number_block_test {
namespace {

TEST(ReservedNumbers, AreGivenOnceAndBlockAfterBlock) {  // P-4
  ReservedNumbers numbers;
  numbers.reserved(NumberKind::kActor, 100, 2);
  numbers.reserved(NumberKind::kProcess, 500, 2);
  EXPECT_EQ(numbers.take_actor(), Incarnation{100});
  EXPECT_EQ(numbers.take_actor(), Incarnation{101});
  numbers.reserved(NumberKind::kActor, 102, 1);
  EXPECT_EQ(numbers.take_actor(), Incarnation{102});
  EXPECT_EQ(numbers.next_process(), ProcessIncarnation{500});
  EXPECT_EQ(numbers.take_process(), ProcessIncarnation{500}) << "to look at it is not to take it";
  EXPECT_EQ(numbers.next_process(), ProcessIncarnation{501});
}

TEST(ReservedNumbers, AreWantedBeforeTheyRunOut) {
  ReservedNumbers numbers;
  EXPECT_TRUE(numbers.is_low(NumberKind::kActor, 1));
  EXPECT_TRUE(numbers.is_low(NumberKind::kProcess, 1));
  numbers.reserved(NumberKind::kActor, 1, ReservedNumbers::kLeftMin + 1);
  EXPECT_FALSE(numbers.is_low(NumberKind::kActor, 1));
  EXPECT_TRUE(numbers.is_low(NumberKind::kProcess, 1)) << "the other kind's";
  (void)numbers.take_actor();
  EXPECT_FALSE(numbers.is_low(NumberKind::kActor, 1));
  (void)numbers.take_actor();
  EXPECT_TRUE(numbers.is_low(NumberKind::kActor, 1));
}

TEST(ReservedNumbers, OfAnEarlierTermAreBelowItsFirstBlock) {
  ReservedNumbers numbers;
  numbers.reserved(NumberKind::kActor, 7, 10);
  numbers.reserved(NumberKind::kProcess, 500, 10);
  numbers.reserved(NumberKind::kProcess, 800, 10);
  EXPECT_TRUE(numbers.is_of_earlier_term(ProcessIncarnation{499}));
  EXPECT_FALSE(numbers.is_of_earlier_term(ProcessIncarnation{500}));
  EXPECT_FALSE(numbers.is_of_earlier_term(ProcessIncarnation{799}));
}

}  // namespace
}  // namespace shoal::number_block_test
