// A run that goes a step further each time may be thrown back for ever; one that does not is given up.
#include "runtime/cluster/recovery/vain_roll_backs.h"

#include <gtest/gtest.h>

namespace shoal::vain_roll_backs_test {
namespace {

TEST(VainRollBacks, WithoutAStepFurtherTheyEnd) {
  VainRollBacks vain;
  for (std::uint64_t i = 0; i < VainRollBacks::kInVainMax; ++i) EXPECT_TRUE(vain.is_worth_another(7)) << i;
  EXPECT_FALSE(vain.is_worth_another(7));
  EXPECT_FALSE(vain.is_worth_another(3)) << "an older state is no progress";
  EXPECT_TRUE(vain.is_worth_another(8));
}

TEST(VainRollBacks, AStepFurtherEachTimeIsProgress) {
  VainRollBacks vain;
  for (std::uint64_t step = 1; step <= 10 * VainRollBacks::kInVainMax; ++step) EXPECT_TRUE(vain.is_worth_another(step));
}

// Three times where nobody ever had the memory; more often where it was enough for a step once.
TEST(VainRollBacks, ForWantOfMemoryTheyEndSoonerAndWithPauses) {
  for (const bool has_stepped : {false, true}) {
    VainRollBacks vain;
    if (has_stepped) vain.stepped();
    const std::uint64_t most = has_stepped ? VainRollBacks::kFittedMax : VainRollBacks::kNeverFitMax;
    Duration before = Duration::zero();
    for (std::uint64_t i = 1; i < most; ++i) {
      EXPECT_TRUE(vain.is_worth_another(7, VainRollBacks::Cause::kMemory)) << i;
      EXPECT_TRUE(vain.pause() > before || vain.pause() == VainRollBacks::kLongestPause);
      before = vain.pause();
      EXPECT_TRUE(vain.is_worth_another(7)) << "others do not count as such";
      EXPECT_EQ(vain.pause(), Duration::zero());
    }
    EXPECT_FALSE(vain.is_worth_another(7, VainRollBacks::Cause::kMemory));
  }
}

TEST(VainRollBacks, AStepFurtherEndsTheWantOfMemory) {
  VainRollBacks vain;
  for (std::uint64_t step = 1; step <= 100; ++step)
    EXPECT_TRUE(vain.is_worth_another(step, VainRollBacks::Cause::kMemory));
  EXPECT_EQ(vain.pause(), std::chrono::seconds(2));
}

}  // namespace
}  // namespace shoal::vain_roll_backs_test
