// Lanes of a node that limits its rates: bytes pass at the rate, all of them, and what is small and goes by the actors'
// connection does not wait for it.
#include <chrono>
#include <random>

#include <gtest/gtest.h>

#include "tests/runtime/transport/lanes/lane_side.h"

namespace shoal::limited_lanes_test {
namespace {

using test_support::eventually;
using test_support::is_same;
using test_support::kAccepted;
using test_support::kDialled;
using test_support::random_letter;
using test_support::Side;
using test_support::TestRun;

constexpr std::uint64_t kBitPerSecond = 40'000'000;
constexpr std::size_t kLetterBytes = 500'000;
constexpr int kLetters = 5;  // in all half a second at this rate
constexpr double kExpectedSeconds = 8.0 * kLetterBytes * kLetters / kBitPerSecond;

struct LimitedLanes : ::testing::TestWithParam<bool> {
  [[nodiscard]] LaneLimits limits(std::uint64_t up_bit_s, std::uint64_t down_bit_s) const {
    LaneLimits out;
    out.takes_local_ways = GetParam();
    out.up_bit_s = up_bit_s;
    out.down_bit_s = down_bit_s;
    return out;
  }
  // Seconds until all letters from one side are whole at the other.
  double time_to_pass(Side& from, Side& to) {
    const std::uint16_t port = to.process.publish();
    from.lanes().open(kDialled, {"127.0.0.1", port}, to.lanes().expect(kAccepted));
    EXPECT_TRUE(eventually([&] { return from.ears.count(LaneChange::Kind::kUp) == 1; }));
    std::vector<EncodedLetter> sent;
    const auto began = std::chrono::steady_clock::now();
    for (int i = 0; i < kLetters; ++i) {
      sent.push_back(random_letter(random, kLetterBytes));
      EXPECT_EQ(from.lanes().send(kDialled, sent.back()), LaneOutcome::kTaken);
    }
    EXPECT_TRUE(eventually([&] { return to.ears.letters().size() == sent.size(); }));
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    const auto got = to.ears.letters();
    for (std::size_t i = 0; i < std::min(sent.size(), got.size()); ++i) EXPECT_TRUE(is_same(sent[i], got[i].letter));
    return took.count();
  }

  TestRun run{0x11a1};
  std::mt19937_64 random{5};
};

TEST_P(LimitedLanes, SendAtTheRateOfTheLimitUp) {
  Side slow{run, "slow", limits(kBitPerSecond, 0)};
  Side other{run, "other", limits(0, 0)};
  EXPECT_GE(time_to_pass(slow, other), 0.7 * kExpectedSeconds) << "a short burst is free";
}

TEST_P(LimitedLanes, ReadAtTheRateOfTheLimitDown) {
  Side slow{run, "slow", limits(0, kBitPerSecond)};
  Side other{run, "other", limits(0, 0)};
  EXPECT_GE(time_to_pass(other, slow), 0.7 * kExpectedSeconds);
}

TEST_P(LimitedLanes, DoNotLimitTheOtherDirection) {
  constexpr std::uint64_t kVerySlow = 1'000'000;
  Side slow{run, "slow", limits(0, kVerySlow)};
  Side other{run, "other", limits(0, 0)};
  EXPECT_LT(time_to_pass(slow, other), 8.0 * kLetterBytes * kLetters / kVerySlow / 4);
}

INSTANTIATE_TEST_SUITE_P(OfEachWay, LimitedLanes, ::testing::Bool(),
                         [](const auto& tested) { return tested.param ? "Local" : "Tls"; });

}  // namespace
}  // namespace shoal::limited_lanes_test
