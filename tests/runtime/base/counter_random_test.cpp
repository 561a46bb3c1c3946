// Philox4x32-10 against the known answers that its authors publish (Random123, kat_vectors).
#include "runtime/base/counter_random.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdint>

#include "runtime/base/arithmetic/jitter.h"

namespace shoal::counter_random_test {
namespace {

using Counter = std::array<std::uint32_t, 4>;
using Key = std::array<std::uint32_t, 2>;

TEST(CounterRandom, GivesTheKnownAnswersOfPhilox) {
  EXPECT_EQ(philox4x32(Counter{}, Key{}), (Counter{0x6627e8d5U, 0xe169c58dU, 0xbc57ac4cU, 0x9b00dbd8U}));
  EXPECT_EQ(philox4x32(Counter{~0U, ~0U, ~0U, ~0U}, Key{~0U, ~0U}),
            (Counter{0x408f276dU, 0x41c83b0eU, 0xa20bc7c6U, 0x6d5451fdU}));
  EXPECT_EQ(philox4x32(Counter{0x243f6a88U, 0x85a308d3U, 0x13198a2eU, 0x03707344U}, Key{0xa4093822U, 0x299f31d0U}),
            (Counter{0xd16cfe09U, 0x94fdccebU, 0x5001e420U, 0x24126ea1U}));
}

TEST(CounterRandom, IsAConstantExpression) {
  static_assert(philox4x32(Counter{}, Key{})[0] == 0x6627e8d5U);
  static_assert(philox_counter(1, 2) == Counter{1, 0, 2, 0});
  static_assert(philox_key(0x1122334455667788U) == Key{0x55667788U, 0x11223344U});
  SUCCEED();
}

TEST(CounterRandom, DrawsUniformNumbersInTheHalfOpenInterval) {
  EXPECT_EQ(uniform01(0, 0), 0.0);
  EXPECT_LT(uniform01(~0U, ~0U), 1.0);
  EXPECT_EQ(uniform01(0, 0x80000000U), 0.5);
  constexpr int kDraws = 20000;
  double sum = 0;
  for (std::uint32_t i = 0; i < kDraws; ++i) {
    const Counter words = philox4x32(philox_counter(i, 0), philox_key(1));
    sum += uniform01(words[0], words[1]);
  }
  EXPECT_NEAR(sum / kDraws, 0.5, 0.01);  // 5 standard deviations: 0.0102
}

TEST(CounterRandom, GivesNamesStreamsOfTheirOwn) {
  EXPECT_EQ(stream_of(""), 0xCBF29CE484222325U);
  EXPECT_EQ(stream_of("a"), 0xAF63DC4C8601EC8CU);  // FNV-1a's published value
  EXPECT_NE(stream_of("h.0.ln_1.weight"), stream_of("h.1.ln_1.weight"));
}

TEST(Jitter, SpreadsPausesEvenlyAndAsTheSeedSays) {
  using std::chrono::milliseconds;
  constexpr int kDraws = 20000;
  Jitter jitter(3);
  Jitter same(3);
  Jitter other(4);
  double sum = 0;
  int equal = 0;
  for (int i = 0; i < kDraws; ++i) {
    const Duration pause = jitter.spread(milliseconds(100), 0.75, 1.25);
    ASSERT_GE(pause, milliseconds(75));
    ASSERT_LT(pause, milliseconds(125));
    ASSERT_EQ(pause, same.spread(milliseconds(100), 0.75, 1.25));
    if (pause == other.spread(milliseconds(100), 0.75, 1.25)) ++equal;
    sum += std::chrono::duration<double, std::milli>(pause).count();
  }
  EXPECT_NEAR(sum / kDraws, 100, 0.5);  // 5 standard deviations: 0.51
  EXPECT_LT(equal, 10);
}

}  // namespace
}  // namespace shoal::counter_random_test
