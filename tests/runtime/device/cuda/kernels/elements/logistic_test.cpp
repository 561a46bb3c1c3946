// Quotients by 1 + e without a branch: the bits of the formulas with a division, or NaN where those are asked.
#include "runtime/device/cuda/kernels/logistic.h"

#include <gtest/gtest.h>

#include "runtime/base/arithmetic/vector_clones.h"

namespace shoal::gpu::logistic_test {
namespace {

struct Counts {
  std::uint64_t wrong = 0;
  std::uint64_t asked = 0;  // NaN where the formula has a number
};

template <class Fast, class Formula>
[[gnu::always_inline]] inline void count(float x, const Fast& fast, const Formula& formula, Counts& counts) {
  const float got = fast(x), wanted = formula(x);
  const bool is_nan = got != got;
  counts.wrong += !is_nan && bits_of(got) != bits_of(wanted) ? 1U : 0U;
  counts.asked += is_nan && wanted == wanted ? 1U : 0U;
}

struct All {
  Counts gelu, gelu_slope, silu, silu_slope, unhalved;
};

// One step of Newton's iteration is not enough for any of them: the negative control.
SHOAL_ELEMENT float over_one_plus_roughly(float x, float e) {
  const float r = float_of(0x7EF311C7U - bits_of(1.0F + e));
  return x * std::fma(std::fma(-(1.0F + e), r, 1.0F), r, r);
}

// Floats of [first, last] by their bits, every `step`-th.
SHOAL_VECTOR_CLONES All compare(std::uint32_t first, std::uint32_t last, std::uint32_t step) {
  All all;
  for (std::uint64_t bits = first; bits <= last; bits += step) {
    const float x = float_of(static_cast<std::uint32_t>(bits));
    count(x, gelu_or_nan, gelu_of, all.gelu);
    count(x, gelu_slope_or_nan, gelu_slope_of, all.gelu_slope);
    count(x, silu_or_nan, silu_of, all.silu);
    count(x, silu_slope_or_nan, silu_slope_of, all.silu_slope);
    const auto roughly = [](float g) { return over_one_plus_roughly(g, exponential(-g)); };
    count(x, roughly, silu_of, all.unhalved);
  }
  return all;
}

constexpr std::uint32_t kSign = 0x80000000U;

TEST(Logistic, GivesTheBitsOfTheDivisionOrNaN) {
  for (const std::uint32_t sign : {0U, kSign}) {
    const All all = compare(sign, sign | 0x7FFFFFFFU, 8191);
    EXPECT_EQ(all.gelu.wrong + all.gelu_slope.wrong + all.silu.wrong + all.silu_slope.wrong, 0U) << sign;
    EXPECT_GT(all.unhalved.wrong, 0U);
  }
}

TEST(Logistic, DoesSoForEachFloatWhereRoundingIsHardest) {
  // Around the inputs whose divisor's fraction is all ones, or whose quotient is nearest to a tie.
  for (const float x : {0x1p-24F, 0x1p-23F, 0x1.8f5c02p-19F, 0x1.e145ccp-25F, 0x1.800002p-24F, -0x1.63934ap+3F,
                        -0x1.63934ap+6F, -0x1.3f1p+3F, 0.0F, -0.0F}) {
    const std::uint32_t least = bits_of(x) < 20000 || bits_of(x) == kSign ? bits_of(x) : bits_of(x) - 20000;
    const All all = compare(least, bits_of(x) + 20000, 1);
    EXPECT_EQ(all.gelu.wrong + all.gelu_slope.wrong + all.silu.wrong + all.silu_slope.wrong, 0U) << x;
  }
}

TEST(Logistic, NeverAsksTheFormulaForUsualValues) {
  for (const std::uint32_t sign : {0U, kSign}) {
    const All gelu = compare(sign, sign | bits_of(9.9F), 8191);
    EXPECT_EQ(gelu.gelu.asked + gelu.gelu_slope.asked, 0U);
    const All silu = compare(sign, sign | bits_of(86.5F), 8191);
    EXPECT_EQ(silu.silu.asked + silu.silu_slope.asked, 0U);
  }
  const All beyond = compare(kSign | bits_of(90.0F), kSign | bits_of(100.0F), 8191);
  EXPECT_GT(beyond.silu_slope.asked, 0U);
}

}  // namespace
}  // namespace shoal::gpu::logistic_test
