// The measured speed is one that a processor has, and nearly the same twice.
#include "runtime/device/speed_probe.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace shoal {
namespace {

TEST(SpeedProbe, MeasuresNearlyTheSameAgain) {
  const auto first = static_cast<double>(measure_multiply_adds_s());
  const auto second = static_cast<double>(measure_multiply_adds_s());
  EXPECT_GT(first, 1e8);
  EXPECT_LT(first, 1e12);
  EXPECT_LT(std::max(first, second) / std::min(first, second), 1.5) << first << ' ' << second;
}

}  // namespace
}  // namespace shoal
