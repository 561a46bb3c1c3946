// Seed by seed: the optimum once, then every policy.
#include "runtime/plan/swarm/swarm_comparison.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/time/units.h"

namespace shoal {
namespace {

constexpr double kMinuteSeconds = 60;
constexpr double kStagesDivisor = 3.6;

double percent(const std::vector<Moment>& part, const std::vector<Moment>& whole, double from_s, double to_s) {
  const double optimal = integral_of(whole, from_s, to_s);
  return optimal > 0 ? 100 * integral_of(part, from_s, to_s) / optimal : 100;
}

std::vector<Moment> by_minute(const std::vector<Moment>& part, const std::vector<Moment>& whole, double ends_s) {
  std::vector<Moment> out;
  const auto value_at = [](const std::vector<Moment>& moments, double at_s) {
    const auto after = std::ranges::upper_bound(moments, at_s, {}, &Moment::at_s);
    return after == moments.begin() ? 0.0 : std::prev(after)->value;
  };
  for (double at_s = 0; at_s < ends_s; at_s += kMinuteSeconds) {
    const double optimal = value_at(whole, at_s);
    out.push_back({at_s, optimal > 0 ? 100 * value_at(part, at_s) / optimal : 100});
  }
  return out;
}

double mean_alive(const SwarmTrace& trace) {
  double alive_s = 0;
  for (const SwarmMachine& machine : trace.machines) {
    alive_s += std::min(machine.leaves_s, trace.ends_s) - machine.joins_s;
  }
  return alive_s / trace.ends_s;
}

// Adds one seed's share of the means.
void add(SwarmPolicyResult& result, const SwarmOutcome& outcome, const std::vector<Moment>& optimum,
         const SwarmTrace& trace, double share) {
  const double ends_s = trace.ends_s;
  const double whole = percent(outcome.throughput, optimum, 0, ends_s);
  result.percent_of_optimal += share * whole;
  result.first_hour += share * percent(outcome.throughput, optimum, 0, std::min(kSecondsPerHour, ends_s));
  result.last_hour += share * percent(outcome.throughput, optimum, std::max(0.0, ends_s - kSecondsPerHour), ends_s);
  result.moves += share * static_cast<double>(outcome.moves);
  if (result.percent.empty())
    result.percent = by_minute(outcome.throughput, optimum, ends_s), result.worst_seed = whole;
  result.worst_seed = std::min(result.worst_seed, whole);
}

std::size_t machines_at_start(const SwarmOrder& order) {
  if (!order.trace) return order.model.nodes;
  return static_cast<std::size_t>(std::ranges::count(order.trace->machines, 0.0, &SwarmMachine::joins_s));
}

}  // namespace

std::size_t stages_of(const SwarmOrder& order) {
  if (order.stages > 0) return order.stages;
  const double stages = std::cbrt(std::pow(static_cast<double>(machines_at_start(order)), 2)) / kStagesDivisor;
  return std::max<std::size_t>(2, static_cast<std::size_t>(std::llround(stages)));
}

SwarmComparison compare(const SwarmOrder& order) {
  SwarmComparison out;
  out.order = order;
  out.stages = stages_of(order);
  for (const auto& period : order.rebalance_s) out.policies.emplace_back().rebalance_s = period;
  const std::size_t seeds = order.trace ? 1 : order.seeds;
  const double share = 1.0 / static_cast<double>(seeds);
  for (std::size_t seed = 1; seed <= seeds; ++seed) {
    const SwarmTrace trace = order.trace ? *order.trace : draw_trace(order.model, seed);
    SwarmRun run = order.run;
    run.loads.assign(out.stages, 1.0);
    const auto optimum = optimum_of(trace, run.loads);
    for (SwarmPolicyResult& policy : out.policies) {
      run.rebalance_s = policy.rebalance_s;
      add(policy, SwarmSimulation(trace, run).outcome(), optimum, trace, share);
    }
    out.nodes += share * mean_alive(trace);
    out.hours = trace.ends_s / kSecondsPerHour;
  }
  return out;
}

}  // namespace shoal
