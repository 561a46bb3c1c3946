// The measured speed is one that a processor has, and nearly the same twice.
#include "runtime/device/speed_probe.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "runtime/base/machine/bf16_units.h"

namespace shoal::speed_probe_test {
namespace {

TEST(SpeedProbe, MeasuresNearlyTheSameAgain) {
  const auto first = static_cast<double>(measure_multiply_adds_s(Precision::kFp32));
  const auto second = static_cast<double>(measure_multiply_adds_s(Precision::kFp32));
  EXPECT_GT(first, 1e8);
  EXPECT_LT(first, 1e12);
  EXPECT_LT(std::max(first, second) / std::min(first, second), 1.5) << first << ' ' << second;
}

TEST(SpeedProbe, MeasuresBf16WhereThereAreUnits) {
  const auto rate = static_cast<double>(measure_multiply_adds_s(Precision::kBf16));
  EXPECT_EQ(rate > 0, bf16_units() != "none");
  ::setenv("SHOAL_BF16", "none", 1);
  EXPECT_EQ(measure_multiply_adds_s(Precision::kBf16), 0U);
  ::unsetenv("SHOAL_BF16");
}

// On any processor: without units a library goes by way of float32.
TEST(SpeedProbe, MakesProductsInBf16WhateverUnitsThereAre) {
  const Status made = check_bf16_products();
  EXPECT_TRUE(made.ok()) << made.failure().message;
}

}  // namespace
}  // namespace shoal::speed_probe_test
