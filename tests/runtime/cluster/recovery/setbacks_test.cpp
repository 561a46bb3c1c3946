// A run that goes a step further each time may be thrown back for ever; one that does not is given up.
#include "runtime/cluster/recovery/setbacks.h"

#include <gtest/gtest.h>

namespace shoal {
namespace {

TEST(Setbacks, WithoutAStepFurtherTheyEnd) {
  Setbacks setbacks;
  for (int i = 0; i < Setbacks::kInVainMax; ++i) EXPECT_TRUE(setbacks.is_worth_another(7)) << i;
  EXPECT_FALSE(setbacks.is_worth_another(7));
  EXPECT_FALSE(setbacks.is_worth_another(3)) << "an older state is no progress";
  EXPECT_TRUE(setbacks.is_worth_another(8));
}

TEST(Setbacks, AStepFurtherEachTimeIsProgress) {
  Setbacks setbacks;
  for (std::uint64_t step = 1; step <= 10 * Setbacks::kInVainMax; ++step) EXPECT_TRUE(setbacks.is_worth_another(step));
}

}  // namespace
}  // namespace shoal
