// The failure detector: who is suspected and declared dead when, who is not, and why that is said.
#include "runtime/cluster/watch/failure_detector.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>

namespace shoal::failure_detector_test {
namespace {

using namespace std::chrono_literals;

constexpr ProcessIncarnation kPeer{1};
constexpr Duration kLook = 100ms;

// A detector that looks every 100 ms at peers whose heartbeats arrive when the test says.
class Watch {
 public:
  explicit Watch(DetectorLimits limits = {}) : detector(limits) { detector.watch(kPeer, now); }

  void look() {
    now += kLook;
    for (HealthChange& change : detector.look(now)) changes.push_back(std::move(change));
  }
  void silence(Duration duration) {
    for (Duration passed{}; passed < duration; passed += kLook) look();
  }
  void beat(int count, Duration interval = 500ms) {
    for (int i = 0; i < count; ++i) {
      silence(interval);
      detector.heard(kPeer, now);
    }
  }
  // The silence after which the peer was declared dead.
  [[nodiscard]] Duration time_to_death(Duration limit = 1min) {
    for (Duration passed = kLook; passed < limit; passed += kLook) {
      look();
      if (detector.health(kPeer) == Health::kDead) return passed;
    }
    return limit;
  }
  [[nodiscard]] bool was(Health health) const {
    for (const HealthChange& change : changes) {
      if (change.health == health) return true;
    }
    return false;
  }

  Instant now = Instant{} + 1h;
  FailureDetector detector;
  std::vector<HealthChange> changes;
};

TEST(FailureDetector, IsContentWithARegularPeer) {
  Watch watch;
  watch.beat(1000);
  EXPECT_TRUE(watch.changes.empty());
  EXPECT_LT(watch.detector.phi(kPeer), 1);
}

TEST(FailureDetector, SuspectsAfterThreeMissedHeartbeatsAndTrustsAgain) {
  Watch watch;
  watch.beat(20);
  watch.silence(1400ms);
  EXPECT_TRUE(watch.changes.empty());
  watch.silence(200ms);
  ASSERT_EQ(watch.changes.size(), 1U);
  EXPECT_EQ(watch.changes[0].health, Health::kSuspected);
  EXPECT_GE(watch.detector.phi(kPeer), 8);
  watch.beat(1, 100ms);
  watch.look();
  ASSERT_EQ(watch.changes.size(), 2U);
  EXPECT_EQ(watch.changes[1].health, Health::kGood);
}

TEST(FailureDetector, NeverDeclaresDeadBeforeTheFloorNorAfterTheCap) {
  Watch watch;
  watch.beat(50);
  const Duration death = watch.time_to_death();
  EXPECT_EQ(death, 7500ms) << "a regular peer at the floor";
  Watch stranger;
  EXPECT_EQ(stranger.time_to_death(), 10s) << "of whom nothing is known, at the cap";
}

TEST(FailureDetector, SaysWhyAndNamesTheDeadOnce) {
  Watch watch;
  watch.beat(50);
  watch.silence(20s);
  ASSERT_EQ(watch.changes.size(), 2U);
  EXPECT_EQ(watch.changes[1].health, Health::kDead);
  EXPECT_EQ(watch.changes[1].process, kPeer);
  EXPECT_NE(watch.changes[1].reason.find("no heartbeat for 7.50 s; they came every 0.50 s +- 0.10 s (phi "),
            std::string::npos)
      << watch.changes[1].reason;
}

TEST(FailureDetector, GivesAnIrregularPeerMoreTime) {
  Watch steady;
  Watch jittery;
  std::mt19937_64 random(3);
  steady.beat(60);
  for (int i = 0; i < 60; ++i) jittery.beat(1, (100 + random() % 50 * 100) * 1ms);
  EXPECT_GT(jittery.time_to_death(), steady.time_to_death());
}

// Five seconds of SIGSTOP are no death.
TEST(FailureDetector, ForgivesFiveSecondsOfSilence) {
  Watch watch;
  watch.beat(100);
  watch.silence(5s);
  watch.beat(10);
  EXPECT_FALSE(watch.was(Health::kDead));
  EXPECT_TRUE(watch.was(Health::kSuspected));
}

// Three times slower is not dead, from one moment to the next.
TEST(FailureDetector, DoesNotTakeSlowForDead) {
  Watch watch;
  watch.beat(100);
  watch.beat(1000, 1500ms);
  EXPECT_FALSE(watch.was(Health::kDead));
  DetectorLimits hasty;
  hasty.dead_after = 2s;
  Watch small(hasty);
  small.beat(100);
  small.beat(1000, 1500ms);
  EXPECT_FALSE(small.was(Health::kDead));
}

TEST(FailureDetector, ALostLinkIsDeathUnlessItIsHeardAgainSoon) {
  Watch watch;
  watch.beat(20);
  watch.detector.link_lost(kPeer, "connection reset", watch.now);
  watch.look();
  EXPECT_EQ(watch.detector.health(kPeer), Health::kSuspected);
  watch.beat(20);
  EXPECT_EQ(watch.detector.health(kPeer), Health::kGood);
  watch.detector.link_lost(kPeer, "connection reset", watch.now);
  EXPECT_EQ(watch.time_to_death(), 1500ms);
  EXPECT_NE(watch.changes.back().reason.find("connection reset"), std::string::npos);
}

// Stopped for an hour: whoever does not look cannot say that others were silent.
TEST(FailureDetector, AccusesNobodyAfterAPauseOfItsOwn) {
  Watch watch;
  watch.beat(50);
  watch.now += 1h;
  watch.look();
  EXPECT_FALSE(watch.was(Health::kDead));
  EXPECT_GE(watch.detector.away(), 59min);
  EXPECT_EQ(watch.time_to_death(), 6500ms) << "it had counted one second of the pause";
}

TEST(FailureDetector, AccusesNobodyWhenItLooksTooSeldom) {
  Watch watch;
  watch.beat(50);
  for (int i = 0; i < 5; ++i) {
    watch.now += 4s;
    (void)watch.detector.look(watch.now);
    watch.detector.heard(kPeer, watch.now);
  }
  EXPECT_FALSE(watch.was(Health::kDead));
}

TEST(FailureDetector, KnowsNothingOfWhomItForgot) {
  Watch watch;
  watch.beat(10);
  watch.detector.forget(kPeer);
  watch.silence(1min);
  EXPECT_TRUE(watch.changes.empty());
}

struct Bad {
  bool drops = false;       // a heartbeat in ten is lost
  Duration pause_of_own{};  // now and then
};

// One hour behind a link of 200 ms +- 50 ms. Returns the number of deaths.
int deaths_in_an_hour(std::uint64_t seed, const Bad& bad) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> jitter(-50, 50);
  Watch watch;
  std::vector<Instant> arrivals;
  for (int i = 1; i <= 7200; ++i) {
    const auto late =
        std::chrono::duration_cast<Duration>(std::chrono::duration<double, std::milli>(200 + jitter(random)));
    if (!bad.drops || random() % 10 != 0) arrivals.push_back(watch.now + i * 500ms + late);
  }
  std::size_t next = 0;
  while (next < arrivals.size()) {
    watch.look();
    if (bad.pause_of_own > Duration::zero() && random() % 600 == 0) watch.now += bad.pause_of_own;
    while (next < arrivals.size() && arrivals[next] <= watch.now) watch.detector.heard(kPeer, arrivals[next++]);
  }
  int deaths = 0;
  for (const HealthChange& change : watch.changes) deaths += change.health == Health::kDead ? 1 : 0;
  return deaths;
}

TEST(FailureDetector, EvictsNobodyInAnHourOfDelayJitterLossAndOwnPauses) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  EXPECT_EQ(deaths_in_an_hour(seed, {}), 0);
  EXPECT_EQ(deaths_in_an_hour(seed, {true, {}}), 0);
  EXPECT_EQ(deaths_in_an_hour(seed, {true, 20s}), 0);
}

// Whatever the rhythm, the bounds hold: no death within the floor, death at the cap, and none without silence.
TEST(FailureDetector, KeepsItsBoundsForAnyRhythm) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  for (int trial = 0; trial < 300; ++trial) {
    DetectorLimits limits;
    limits.expected = (100 + random() % 1000) * 1ms;
    limits.dead_after = limits.expected * (2 + static_cast<int>(random() % 40));
    Watch watch(limits);
    const auto longest = static_cast<std::uint64_t>(limits.dead_floor() / kLook);
    for (int beat = 0; beat < 60; ++beat) watch.beat(1, static_cast<int>(random() % longest) * kLook);
    ASSERT_FALSE(watch.was(Health::kDead)) << "trial " << trial;
    const Duration death = watch.time_to_death(10min);
    ASSERT_GE(death, limits.dead_floor()) << "trial " << trial;
    ASSERT_LT(death, limits.dead_after + 2 * kLook) << "trial " << trial;
  }
}

}  // namespace
}  // namespace shoal::failure_detector_test
