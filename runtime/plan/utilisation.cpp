// Chooses the periods that are measured.
#include "runtime/plan/utilisation.h"

#include <algorithm>
#include <cmath>

#include "runtime/plan/sync_simulation.h"

namespace shoal {
namespace {

constexpr std::uint64_t kPeriodsMax = 400;        // ends a drift that would not end
constexpr std::uint64_t kJitteredStepsMin = 600;  // measured ones
constexpr std::uint64_t kJitteredPeriodsMin = 12;
constexpr double kSame = 1e-9;  // relative

double elapsed_s(const SyncSimulation& simulation, const Scenario& scenario, std::uint64_t from, std::uint64_t to) {
  double sum_s = 0;
  for (std::size_t worker = 0; worker < scenario.network.workers; ++worker) {
    sum_s += simulation.begin_of(to, worker).time_s - simulation.begin_of(from, worker).time_s;
  }
  return sum_s / static_cast<double>(scenario.network.workers);
}

double busy_s(const SyncSimulation& simulation, const Scenario& scenario, std::uint64_t from, std::uint64_t to) {
  double sum_s = 0;
  for (std::size_t worker = 0; worker < scenario.network.workers; ++worker) {
    sum_s += simulation.begin_of(to, worker).busy_s - simulation.begin_of(from, worker).busy_s;
  }
  return sum_s / static_cast<double>(scenario.network.workers);
}

Utilisation between(const SyncSimulation& simulation, const Scenario& scenario, std::uint64_t from, std::uint64_t to) {
  const double all_s = elapsed_s(simulation, scenario, from, to);
  const double computed_s = busy_s(simulation, scenario, from, to);
  const auto periods = static_cast<double>(to - from);
  Utilisation out;
  out.share = computed_s / all_s;
  out.period_s = all_s / periods;
  out.lost_s = (all_s - computed_s) / periods;
  const double sent_bits = simulation.traffic_at(to).sent_bits - simulation.traffic_at(from).sent_bits;
  out.sent_bits = sent_bits / periods / static_cast<double>(scenario.network.workers);
  return out;
}

double waiting_bits(const PeriodTraffic& traffic) { return traffic.contributed_bits - traffic.sent_bits; }

// Periods that begin before anything has been waited for.
std::uint64_t first_periods(const Scenario& scenario) {
  return 2 + (scenario.schedule.overlap_steps + scenario.schedule.period_steps) / scenario.schedule.period_steps;
}

// Every worker took as long for the last period as all did for the one before (one that runs ahead has not been held
// up yet), and as much is left unsent.
bool is_same(const SyncSimulation& simulation, const Scenario& scenario, std::uint64_t period) {
  const double before_s = elapsed_s(simulation, scenario, period - 2, period - 1);
  for (std::size_t worker = 0; worker < scenario.network.workers; ++worker) {
    const double last_s = simulation.begin_of(period, worker).time_s - simulation.begin_of(period - 1, worker).time_s;
    if (std::abs(last_s - before_s) > kSame * before_s) return false;
  }
  const double drift_bits =
      waiting_bits(simulation.traffic_at(period)) - waiting_bits(simulation.traffic_at(period - 1));
  const double all_bits = sent_bits_per_period(scenario) * static_cast<double>(scenario.network.workers);
  return std::abs(drift_bits) <= kSame * all_bits + kSame;
}

Utilisation jittered(const Scenario& scenario) {
  const std::uint64_t steps = scenario.schedule.period_steps;
  const std::uint64_t from = first_periods(scenario) + 2;
  const std::uint64_t to = from + std::max(kJitteredPeriodsMin, (kJitteredStepsMin + steps - 1) / steps);
  SyncSimulation simulation(scenario);
  simulation.run_to_period(to);
  Utilisation out = between(simulation, scenario, from, to);
  out.is_steady = false;
  return out;
}

}  // namespace

Utilisation steady_utilisation(const Scenario& scenario) {
  if (scenario.network.jitter > 0) return jittered(scenario);
  SyncSimulation simulation(scenario);
  for (std::uint64_t period = first_periods(scenario) + 2;; ++period) {
    simulation.run_to_period(period);
    const bool is_steady = is_same(simulation, scenario, period);
    if (!is_steady && period < kPeriodsMax) continue;
    Utilisation out = between(simulation, scenario, is_steady ? period - 1 : period / 2, period);
    out.is_steady = is_steady;
    return out;
  }
}

Utilisation cold_utilisation(const Scenario& scenario, std::uint64_t periods) {
  SyncSimulation simulation(scenario);
  const double end_s = simulation.settle(periods);
  Utilisation out;
  const double computed_s = busy_s(simulation, scenario, 0, periods);
  out.share = computed_s / end_s;
  out.period_s = end_s / static_cast<double>(periods);
  out.lost_s = (end_s - computed_s) / static_cast<double>(periods);
  out.sent_bits = simulation.traffic_at(periods).sent_bits / static_cast<double>(scenario.network.workers * periods);
  out.is_steady = false;
  return out;
}

}  // namespace shoal
