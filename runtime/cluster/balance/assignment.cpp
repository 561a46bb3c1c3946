// The greedy assignment, and its improvement.
#include "runtime/cluster/balance/assignment.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <queue>

#include "runtime/base/ensure.h"

namespace shoal {
namespace {

constexpr double kLeastRise = 1e-9;  // relative; below it rounding would move machines for ever

// One machine for each speed in a stage: exchanging another one of that speed gives the same.
using SpeedsOfStage = std::vector<std::map<double, std::size_t>>;

SpeedsOfStage by_stage(const std::vector<std::size_t>& stage_of, const std::vector<double>& speeds,
                       std::size_t stages) {
  SpeedsOfStage out(stages);
  for (std::size_t i = 0; i < speeds.size(); ++i) out[stage_of[i]].emplace(speeds[i], i);
  return out;
}

// A machine of another stage that goes to the weakest one, and one of it that goes the other way, if any.
struct Exchange {
  std::size_t taken = 0;
  std::optional<std::size_t> given;
  double least = 0;  // lesser capacity of the two stages afterwards
};

struct Assignment {
  const std::vector<double>& speeds;
  const std::vector<double>& loads;
  std::vector<std::size_t> stage_of;
  std::vector<double> capacities;

  void give(std::size_t machine, std::size_t stage) {
    capacities[stage_of[machine]] -= speeds[machine] / loads[stage_of[machine]];
    capacities[stage] += speeds[machine] / loads[stage];
    stage_of[machine] = stage;
  }
  [[nodiscard]] double least_after(std::size_t weak, std::size_t other, double speed) const {
    return std::min(capacities[weak] + speed / loads[weak], capacities[other] - speed / loads[other]);
  }
};

std::optional<Exchange> best_exchange(const Assignment& now, std::size_t weak) {
  const auto machines = by_stage(now.stage_of, now.speeds, now.loads.size());
  std::optional<Exchange> best;
  const auto consider = [&](const Exchange& exchange) {
    const bool rises = exchange.least > now.capacities[weak] * (1 + kLeastRise);
    if (rises && (!best || exchange.least > best->least)) best = exchange;
  };
  for (std::size_t other = 0; other < now.loads.size(); ++other) {
    if (other == weak) continue;
    for (const auto& [speed, machine] : machines[other]) {
      consider({machine, std::nullopt, now.least_after(weak, other, speed)});
      for (const auto& [own_speed, own] : machines[weak]) {
        if (own_speed < speed) consider({machine, own, now.least_after(weak, other, speed - own_speed)});
      }
    }
  }
  return best;
}

// Fastest first, each to the stage that has least.
std::vector<std::size_t> greedy(const std::vector<double>& speeds, const std::vector<double>& loads) {
  std::vector<std::size_t> order(speeds.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return speeds[a] > speeds[b]; });
  using Entry = std::pair<double, std::size_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> stages;
  for (std::size_t stage = 0; stage < loads.size(); ++stage) stages.emplace(0.0, stage);
  std::vector<std::size_t> stage_of(speeds.size());
  for (const std::size_t machine : order) {
    const auto [capacity, stage] = stages.top();
    stages.pop();
    stage_of[machine] = stage;
    stages.emplace(capacity + speeds[machine] / loads[stage], stage);
  }
  return stage_of;
}

}  // namespace

std::size_t weakest_stage(const std::vector<double>& capacities) {
  ENSURE(!capacities.empty(), "there is a stage");
  return static_cast<std::size_t>(std::ranges::min_element(capacities) - capacities.begin());
}

std::vector<double> capacities_of(const std::vector<std::size_t>& stage_of, const std::vector<double>& speeds,
                                  const std::vector<double>& loads) {
  std::vector<double> out(loads.size());
  for (std::size_t i = 0; i < speeds.size(); ++i) out[stage_of[i]] += speeds[i] / loads[stage_of[i]];
  return out;
}

std::vector<std::size_t> best_assignment(const std::vector<double>& speeds, const std::vector<double>& loads) {
  const auto is_positive = [](double value) { return value > 0; };
  ENSURE(std::ranges::all_of(speeds, is_positive) && std::ranges::all_of(loads, is_positive),
         "speeds and loads are above zero");
  ENSURE(!loads.empty(), "there is a stage");
  auto stage_of = greedy(speeds, loads);
  auto capacities = capacities_of(stage_of, speeds, loads);
  Assignment now{speeds, loads, std::move(stage_of), std::move(capacities)};
  for (std::size_t i = 0; i < speeds.size(); ++i) {
    const std::size_t weak = weakest_stage(now.capacities);
    const auto exchange = best_exchange(now, weak);
    if (!exchange) break;
    const std::size_t other = now.stage_of[exchange->taken];
    now.give(exchange->taken, weak);
    if (exchange->given) now.give(*exchange->given, other);
  }
  return now.stage_of;
}

}  // namespace shoal
