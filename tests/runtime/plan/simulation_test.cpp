// The simulation against times that can be worked out by hand, and against the conservation of bits for any scenario.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "runtime/plan/methods.h"
#include "runtime/plan/sync_simulation.h"
#include "runtime/plan/utilisation.h"

namespace shoal::simulation_test {
namespace {

// Steps of 3 s, forward 1 s; each layer has 1 bit per value and 2 values; links of 1 bit/s.
Scenario scenario(std::size_t layers) {
  Scenario out;
  out.workload = {"test", layers, 3, 1.0 / 3, 2};
  out.schedule.bits_per_value = 1;
  out.network.bits_per_s = 1;
  return out;
}

double period_s(const Scenario& scenario) { return steady_utilisation(scenario).period_s; }

TEST(SyncSimulation, AddsWhatIsNotHidden) {
  EXPECT_NEAR(period_s(scenario(1)), 3 + 2, 1e-12);
  EXPECT_NEAR(steady_utilisation(scenario(1)).share, 0.6, 1e-12);
}

// Layer 1 is sent from second 2 to 4, layer 0 from 4 to 6; forward 0 begins at 6.
TEST(SyncSimulation, SendsALayerWhileTheNextOneComputes) { EXPECT_NEAR(period_s(scenario(2)), 6, 1e-12); }

TEST(SyncSimulation, SendsBetweenStepsWhereThatIsTheGrain) {
  Scenario between = scenario(2);
  between.schedule.grain = SyncGrain::kStep;
  EXPECT_NEAR(period_s(between), 3 + 4, 1e-12);
}

// Forward 0 goes on while layer 1, the one fragment, is still on its way: sent from 2 to 6, needed at
// 3 + 0.5.
TEST(SyncSimulation, WaitsWhereALayerIsNeeded) {
  Scenario one = scenario(2);
  one.schedule.period_steps = 2;
  one.schedule.offsets = {2, 1};  // layer 0 after even steps, layer 1 after odd ones
  one.workload.values_per_layer = 4;
  EXPECT_NEAR(period_s(one), (3 + 2.5) + (3 + 4), 1e-12);
}

TEST(SyncSimulation, HidesWhatAnOverlapLeavesTimeFor) {
  Scenario overlapped = scenario(1);
  overlapped.schedule.period_steps = 4;
  overlapped.schedule.offsets = {4};
  EXPECT_NEAR(period_s(overlapped), 12 + 2, 1e-12);
  overlapped.schedule.overlap_steps = 1;
  EXPECT_NEAR(period_s(overlapped), 12, 1e-12);
  overlapped.workload.values_per_layer = 5;
  EXPECT_NEAR(period_s(overlapped), 12 + 2, 1e-12);
  overlapped.schedule.overlap_steps = 4;
  EXPECT_NEAR(period_s(overlapped), 12, 1e-12);
  overlapped.workload.values_per_layer = 18;  // more than the link carries in four steps
  EXPECT_NEAR(period_s(overlapped), 18, 1e-12);
}

TEST(SyncSimulation, OneWorkerWaitsForNobody) {
  Scenario alone = scenario(3);
  alone.network.workers = 1;
  EXPECT_EQ(steady_utilisation(alone).share, 1);
}

TEST(SyncSimulation, KnowsWhatAnExchangeCosts) {
  Scenario many = scenario(1);
  many.network.workers = 4;
  many.network.latency_s = 0.5;
  many.network.exchange = Exchange::kGather;
  EXPECT_NEAR(period_s(many), 3 + 3 * 2 + 0.5, 1e-12);
  many.network.exchange = Exchange::kRing;
  EXPECT_NEAR(period_s(many), 3 + 6 * (2.0 / 4 + 0.5), 1e-12);
  many.network.exchange = Exchange::kOwner;
  EXPECT_NEAR(period_s(many), 3 + 6 * 2.0 / 4 + 2 * 0.5, 1e-12);
}

TEST(SyncSimulation, ExchangesOfTwoWorkersAreTheSameWithoutLatency) {
  for (const std::size_t layers : {1U, 5U}) {
    Scenario two = scenario(layers);
    const double gather_s = period_s(two);
    two.network.exchange = Exchange::kRing;
    EXPECT_NEAR(period_s(two), gather_s, 1e-9);
    two.network.exchange = Exchange::kOwner;
    EXPECT_NEAR(period_s(two), gather_s, 1e-9);
    two.network.latency_s = 0.1;
    EXPECT_GT(period_s(two), gather_s + 0.1);
  }
}

TEST(SyncSimulation, IsAsSlowAsItsSlowestLink) {
  Scenario unequal = scenario(1);
  unequal.network.link_factors = {1, 0.5};
  EXPECT_NEAR(period_s(unequal), 3 + 2 * 2, 1e-12);
  unequal.network.link_factors = {2, 2};
  EXPECT_NEAR(period_s(unequal), 3 + 1, 1e-12);
}

// Only the hops from and to the slow one take longer in a ring, and a worker that has everything goes on.
TEST(SyncSimulation, AOneSidedRingIsSlowerButNotAsIfAllWereSlow) {
  Scenario ring = scenario(1);
  ring.network.workers = 3;
  ring.network.exchange = Exchange::kRing;
  const double equal_s = period_s(ring);
  ring.network.link_factors = {1, 0.5, 1};
  const double one_s = period_s(ring);
  ring.network.link_factors = {0.5, 0.5, 0.5};
  EXPECT_GT(one_s, equal_s + 1);
  EXPECT_LT(one_s, period_s(ring));
}

TEST(SyncSimulation, JitterComesFromItsSeedAndCostsTime) {
  Scenario shaken = scenario(2);
  shaken.network.workers = 4;
  const double calm = steady_utilisation(shaken).share;
  shaken.network.jitter = 0.2;
  const double first = steady_utilisation(shaken).share;
  EXPECT_EQ(steady_utilisation(shaken).share, first);
  EXPECT_LT(first, calm);
  shaken.network.seed = 2;
  EXPECT_NE(steady_utilisation(shaken).share, first);
}

TEST(SyncSimulation, JitterHasTheMeanAndDeviationThatItSays) {
  Network network;
  network.jitter = 0.3;
  double sum = 0;
  double squares = 0;
  constexpr int kDraws = 20000;
  for (int i = 0; i < kDraws; ++i) {
    const double factor = jitter_factor(network, static_cast<std::uint64_t>(i), 1);
    sum += factor;
    squares += factor * factor;
  }
  const double mean = sum / kDraws;
  EXPECT_NEAR(mean, 1, 0.01);
  EXPECT_NEAR(std::sqrt(squares / kDraws - mean * mean), 0.3, 0.015);
}

TEST(Utilisation, OfAColdStartDoesNotPayForItsLastPeriod) {
  Scenario eager = scenario(1);
  eager.schedule.period_steps = eager.schedule.overlap_steps = 4;
  eager.schedule.offsets = {4};
  eager.workload.values_per_layer = 24;  // twice what the link carries while a period computes
  EXPECT_NEAR(steady_utilisation(eager).share, 0.5, 1e-12);
  EXPECT_NEAR(cold_utilisation(eager, 2).share, 24.0 / 36, 1e-12);  // sent from 12 to 36
  EXPECT_GT(cold_utilisation(eager, 2).share, cold_utilisation(eager, 6).share);
}

class RandomScenario {
 public:
  explicit RandomScenario(std::uint64_t seed) : random_(seed) {}

  Scenario any() {
    Scenario out = scenario(1 + below(6));
    MethodSettings settings;
    settings.H = 1 + below(8);
    settings.fragments = 1 + below(std::min<std::uint64_t>(settings.H, out.workload.layers));
    settings.overlap_steps = below(10);
    settings.pattern = below(2) == 0 ? FragmentPattern::kStrided : FragmentPattern::kSequential;
    settings.grain = below(2) == 0 ? SyncGrain::kLayer : SyncGrain::kStep;
    out.schedule = schedule_of(kMethods[below(kMethods.size())], settings);
    out.workload.step_s = share();
    out.workload.forward_share = 0.1 + 0.8 * share();
    out.workload.values_per_layer = share();
    out.network.workers = 1 + below(5);
    out.network.exchange = static_cast<Exchange>(below(3));
    out.network.bits_per_s = out.schedule.bits_per_value * 10 * share();
    out.network.latency_s = below(2) == 0 ? 0 : 0.1 * share();
    if (below(2) == 0) {
      for (std::size_t i = 0; i < out.network.workers; ++i) out.network.link_factors.push_back(0.2 + share());
    }
    return out;
  }
  // 0 is left out.
  double share() { return std::uniform_real_distribution(0.01, 1.0)(random_); }
  std::uint64_t below(std::uint64_t end) { return random_() % end; }

 private:
  std::mt19937_64 random_;
};

// The longest that any link needs for what its worker sends in a period.
double least_sending_s(const Scenario& scenario) {
  double longest_s = 0;
  for (std::size_t worker = 0; worker < scenario.network.workers; ++worker) {
    const double rate = link_rate(scenario.network, worker, worker);
    longest_s = std::max(longest_s, sent_bits_per_period(scenario) / rate);
  }
  return longest_s;
}

TEST(Bits, AreConservedWhateverOverlaps) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  RandomScenario random(seed);
  int steady = 0;
  int beyond = 0;  // in which half as many bits again would not have fitted into the period: the bound is close
  for (int trial = 0; trial < 400; ++trial) {
    SCOPED_TRACE(trial);
    const Scenario scenario = random.any();
    ASSERT_EQ(problem_of(scenario), std::nullopt);
    const Utilisation seen = steady_utilisation(scenario);
    const double computing_s = static_cast<double>(scenario.schedule.period_steps) * scenario.workload.step_s;
    EXPECT_GE(seen.period_s, computing_s * (1 - 1e-9));
    EXPECT_NEAR(seen.share * seen.period_s, computing_s, 1e-6 * computing_s);
    if (!seen.is_steady) continue;
    ++steady;
    EXPECT_NEAR(seen.sent_bits, sent_bits_per_period(scenario), 1e-6 * sent_bits_per_period(scenario));
    EXPECT_GE(seen.period_s, least_sending_s(scenario) * (1 - 1e-6));
    if (seen.period_s < 1.5 * least_sending_s(scenario)) ++beyond;
  }
  EXPECT_GT(steady, 300);
  EXPECT_GT(beyond, 10);
}

// Two workers, no latency, needed a whole period later: the link is the only bound, and it is met.
TEST(Bits, BoundEagerUpdatesAndNothingElseDoes) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  RandomScenario random(seed);
  int starved = 0;
  int cheated = 0;  // by a cold start
  for (int trial = 0; trial < 200; ++trial) {
    SCOPED_TRACE(trial);
    Scenario scenario = random.any();
    scenario.network.workers = 2;
    scenario.network.link_factors.clear();
    scenario.network.latency_s = 0;
    scenario.schedule.grain = SyncGrain::kLayer;
    scenario.schedule.overlap_steps = scenario.schedule.period_steps;
    const Utilisation seen = steady_utilisation(scenario);
    if (!seen.is_steady) continue;
    const double computing_s = static_cast<double>(scenario.schedule.period_steps) * scenario.workload.step_s;
    const double bound_s = std::max(computing_s, least_sending_s(scenario));
    EXPECT_NEAR(seen.period_s, bound_s, 1e-6 * bound_s);
    if (bound_s < computing_s * 1.05) continue;
    ++starved;
    if (cold_utilisation(scenario, 2).share > seen.share * 1.02) ++cheated;
  }
  EXPECT_GT(starved, 20);
  EXPECT_GT(cheated, starved / 2);
}

TEST(Bits, AreSentOnceEach) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  RandomScenario random(seed);
  for (int trial = 0; trial < 200; ++trial) {
    SCOPED_TRACE(trial);
    const Scenario scenario = random.any();
    SyncSimulation simulation(scenario);
    for (std::uint64_t period = 1; period < 6; ++period) {
      simulation.run_to_period(period);
      const PeriodTraffic traffic = simulation.traffic_at(period);
      EXPECT_LE(traffic.sent_bits, traffic.contributed_bits * (1 + 1e-12));
      const double workers = static_cast<double>(scenario.network.workers);
      EXPECT_GE(traffic.contributed_bits,
                workers * sent_bits_per_period(scenario) * static_cast<double>(period) * (1 - 1e-12));
    }
  }
}

TEST(Schedule, PutsFragmentsWhereTheyAreSaidToBe) {
  EXPECT_EQ(at_intervals(100, 8).offsets, (std::vector<std::uint64_t>{12, 24, 36, 48, 60, 72, 84, 96}));
  EXPECT_EQ(at_intervals(100, 36).period_steps, 108U);
  EXPECT_EQ(within_rounds(5, 2).offsets, (std::vector<std::uint64_t>{3, 5}));
  EXPECT_EQ(within_rounds(5, 2).period_steps, 5U);
  SyncSchedule schedule = within_rounds(5, 2);
  EXPECT_TRUE(contributes_after(schedule, 0, 8));
  EXPECT_FALSE(contributes_after(schedule, 0, 10));
  EXPECT_TRUE(contributes_after(schedule, 1, 10));
  EXPECT_FALSE(contributes_after(schedule, 1, 0));
  EXPECT_EQ(fragment_of(schedule, 6, 3), 1U);
  schedule.pattern = FragmentPattern::kSequential;
  EXPECT_EQ(fragment_of(schedule, 6, 3), 1U);
  EXPECT_EQ(fragment_of(schedule, 6, 2), 0U);
}

TEST(Schedule, RefusesWhatCannotBe) {
  const auto refused = [](auto change) {
    Scenario wrong = scenario(2);
    change(wrong);
    return problem_of(wrong).has_value();
  };
  EXPECT_FALSE(refused([](Scenario&) {}));
  EXPECT_TRUE(refused([](Scenario& s) { s.schedule.offsets = {1, 2, 3}; }));
  EXPECT_TRUE(refused([](Scenario& s) { s.workload.step_s = 0; }));
  EXPECT_TRUE(refused([](Scenario& s) { s.network.workers = 0; }));
  EXPECT_TRUE(refused([](Scenario& s) { s.network.link_factors = {1, 1, 1}; }));
  EXPECT_TRUE(refused([](Scenario& s) { s.network.link_factors = {1, 0}; }));
  EXPECT_TRUE(refused([](Scenario& s) { s.network.jitter = 2; }));
}

}  // namespace
}  // namespace shoal::simulation_test
