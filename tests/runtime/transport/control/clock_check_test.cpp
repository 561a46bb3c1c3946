// Tests which clock is named, and when a node goes on trying: the table of clock_check.h, and what holds in all cases.
#include "runtime/transport/control/clock_check.h"

#include <gtest/gtest.h>

#include <random>

#include "runtime/base/compose.h"

namespace shoal::clock_check_test {
namespace {

using std::chrono::hours;

const WallTime kNow = std::chrono::system_clock::from_time_t(1'800'000'000);
const Validity kUsual{kNow - hours(24), kNow + hours(24 * 365)};
const WallTime kBefore = kNow - hours(48);
const WallTime kLater = kNow + hours(24 * 366);

TimeVerdict of_own(WallTime ours, std::optional<WallTime> spawners) {
  return judge_times({ours, spawners, kUsual, std::nullopt});
}

bool says(const TimeVerdict& verdict, const std::string& part) {
  return verdict.sentence.find(part) != std::string::npos;
}

TEST(ClockCheck, NamesTheClockByWhichTheCertificateIsNotValid) {
  for (const WallTime wrong : {kBefore, kLater}) {
    const auto ours = of_own(wrong, kNow);
    EXPECT_EQ(ours.fault, TimeFault::kClock);
    EXPECT_TRUE(says(ours, "look at the clock of this machine")) << ours.sentence;
    const auto theirs = of_own(kNow, wrong);
    EXPECT_EQ(theirs.fault, TimeFault::kClock);
    EXPECT_TRUE(says(theirs, "look at the clock of the spawner's machine")) << theirs.sentence;
    const auto unknown = of_own(wrong, std::nullopt);
    EXPECT_EQ(unknown.fault, TimeFault::kClock) << "nobody says that it has really expired";
    EXPECT_TRUE(says(unknown, "the clocks of both machines")) << unknown.sentence;
  }
}

TEST(ClockCheck, TellsARealEndFromABeginning) {
  EXPECT_EQ(of_own(kNow, kNow).fault, TimeFault::kNone);
  EXPECT_EQ(of_own(kBefore, kBefore).fault, TimeFault::kNotYet);
  EXPECT_EQ(of_own(kLater, kLater).fault, TimeFault::kOwnExpired);
  const auto spawners = judge_times({kLater, kLater, std::nullopt, kUsual});
  EXPECT_EQ(spawners.fault, TimeFault::kExpired);
  EXPECT_TRUE(says(spawners, "the spawner's certificate is valid from 2027-01-14 08:00:00 UTC")) << spawners.sentence;
  EXPECT_EQ(judge_times({kLater, kLater, std::nullopt, std::nullopt}).fault, TimeFault::kNone) << "nothing to judge";
}

// A node leaves for good for a clock only where both say that its own certificate is over.
TEST(ClockCheck, GivesUpOnlyWhereBothClocksAgreeThatOursHasExpired) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(compose("seed ", seed));
  std::mt19937_64 random(seed);
  const auto any = [&] { return kNow + hours(static_cast<int>(random() % 2000) - 1000); };
  const auto certificate = [&]() -> std::optional<Validity> {
    if (random() % 4 == 0) return std::nullopt;
    const WallTime begin = any();
    return Validity{begin, begin + hours(random() % 1000)};
  };
  for (int i = 0; i < 5000; ++i) {
    const ClockFacts facts{any(), random() % 3 == 0 ? std::nullopt : std::optional(any()), certificate(),
                           certificate()};
    const bool is_over =
        facts.own && facts.spawners && facts.ours > facts.own->not_after && *facts.spawners > facts.own->not_after;
    EXPECT_EQ(judge_times(facts).fault == TimeFault::kOwnExpired, is_over);
  }
}

}  // namespace
}  // namespace shoal::clock_check_test
