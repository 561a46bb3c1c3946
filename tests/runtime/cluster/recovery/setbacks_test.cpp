// A run that goes a step further each time may be thrown back for ever; one that does not is given up.
#include "runtime/cluster/recovery/setbacks.h"

#include <gtest/gtest.h>

namespace shoal::setbacks_test {
namespace {

TEST(Setbacks, WithoutAStepFurtherTheyEnd) {
  Setbacks setbacks;
  for (std::uint64_t i = 0; i < Setbacks::kInVainMax; ++i) EXPECT_TRUE(setbacks.is_worth_another(7)) << i;
  EXPECT_FALSE(setbacks.is_worth_another(7));
  EXPECT_FALSE(setbacks.is_worth_another(3)) << "an older state is no progress";
  EXPECT_TRUE(setbacks.is_worth_another(8));
}

TEST(Setbacks, AStepFurtherEachTimeIsProgress) {
  Setbacks setbacks;
  for (std::uint64_t step = 1; step <= 10 * Setbacks::kInVainMax; ++step) EXPECT_TRUE(setbacks.is_worth_another(step));
}

// Three times where nobody ever had the memory; more often where it was enough for a step once.
TEST(Setbacks, ForWantOfMemoryTheyEndSoonerAndWithPauses) {
  for (const bool has_stepped : {false, true}) {
    Setbacks setbacks;
    if (has_stepped) setbacks.stepped();
    const std::uint64_t most = has_stepped ? Setbacks::kFittedMax : Setbacks::kNeverFitMax;
    Duration before = Duration::zero();
    for (std::uint64_t i = 1; i < most; ++i) {
      EXPECT_TRUE(setbacks.is_worth_another(7, Setbacks::Cause::kMemory)) << i;
      EXPECT_TRUE(setbacks.pause() > before || setbacks.pause() == Setbacks::kLongestPause);
      before = setbacks.pause();
      EXPECT_TRUE(setbacks.is_worth_another(7)) << "others do not count as such";
      EXPECT_EQ(setbacks.pause(), Duration::zero());
    }
    EXPECT_FALSE(setbacks.is_worth_another(7, Setbacks::Cause::kMemory));
  }
}

TEST(Setbacks, AStepFurtherEndsTheWantOfMemory) {
  Setbacks setbacks;
  for (std::uint64_t step = 1; step <= 100; ++step)
    EXPECT_TRUE(setbacks.is_worth_another(step, Setbacks::Cause::kMemory));
  EXPECT_EQ(setbacks.pause(), std::chrono::seconds(2));
}

}  // namespace
}  // namespace shoal::setbacks_test
