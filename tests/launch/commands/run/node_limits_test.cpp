// What a worker states of its memory, from its limit and from what is free.
#include "launch/commands/run/node_limits.h"

#include <gtest/gtest.h>

namespace shoal::node_limits_test {
namespace {

constexpr std::uint64_t kGB = 1'000'000'000;

NodeLimits limited_to(std::uint64_t bytes) {
  NodeLimits limits;
  limits.memory_bytes = bytes;
  return limits;
}

TEST(NodeLimits, AWorkerOffersNoMoreThanItsLimitAndNoMoreThanIsFree) {
  EXPECT_EQ(memory_offered(limited_to(8 * kGB), 24 * kGB), 8 * kGB);
  EXPECT_EQ(memory_offered(limited_to(24 * kGB), 8 * kGB), 8 * kGB) << "a card that others use, too";
  EXPECT_EQ(memory_offered({}, 8 * kGB), 8 * kGB);
  EXPECT_EQ(memory_offered(limited_to(24 * kGB), std::nullopt), 24 * kGB) << "the system does not say";
  EXPECT_EQ(memory_offered({}, std::nullopt), 0U);
  EXPECT_EQ(memory_offered(limited_to(8 * kGB), 0), 1U) << "0 would say that nobody knows";
}

}  // namespace
}  // namespace shoal::node_limits_test
