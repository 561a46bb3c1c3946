// The loop of events. A machine is an incarnation by its place in the trace, from 1.
#include "runtime/plan/swarm/swarm_simulation.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <string>

#include "runtime/base/counter_random.h"
#include "runtime/base/ensure.h"
#include "runtime/cluster/balance/assignment.h"
#include "runtime/cluster/placement.h"

namespace shoal {
namespace {

Incarnation incarnation_of(std::size_t machine) { return Incarnation{machine + 1}; }
std::size_t machine_of(Incarnation replica) { return static_cast<std::size_t>(replica.value - 1); }

}  // namespace

std::vector<Moment> optimum_of(const SwarmTrace& trace, const std::vector<double>& loads) {
  std::map<double, std::vector<std::pair<std::size_t, bool>>> changes;  // time -> machine, whether it comes
  for (std::size_t i = 0; i < trace.machines.size(); ++i) {
    changes[trace.machines[i].joins_s].emplace_back(i, true);
    if (trace.machines[i].leaves_s < trace.ends_s) changes[trace.machines[i].leaves_s].emplace_back(i, false);
  }
  std::map<std::size_t, double> alive;
  std::vector<Moment> out;
  for (const auto& [at_s, machines] : changes) {
    for (const auto& [machine, comes] : machines) {
      if (comes) alive[machine] = trace.machines[machine].speed;
      if (!comes) alive.erase(machine);
    }
    std::vector<double> speeds;
    for (const auto& [machine, speed] : alive) speeds.push_back(speed);
    out.push_back({at_s, std::ranges::min(capacities_of(best_assignment(speeds, loads), speeds, loads))});
  }
  return out;
}

double integral_of(const std::vector<Moment>& moments, double from_s, double to_s) {
  double sum = 0;
  for (std::size_t i = 0; i < moments.size(); ++i) {
    const double begin = std::max(moments[i].at_s, from_s);
    const double end = std::min(i + 1 < moments.size() ? moments[i + 1].at_s : to_s, to_s);
    if (end > begin) sum += moments[i].value * (end - begin);
  }
  return sum;
}

SwarmSimulation::SwarmSimulation(const SwarmTrace& trace, const SwarmRun& run)
    : trace_(trace), run_(run), counts_(run.loads.size(), 0) {
  ENSURE(!run.loads.empty(), "there is a stage");
  for (const double load : run.loads) swarm_.stages.push_back({load, run.state_bits, {}});
}

SwarmOutcome SwarmSimulation::outcome() {
  place_first();
  for (std::size_t i = 0; i < trace_.machines.size(); ++i) {
    const SwarmMachine& machine = trace_.machines[i];
    if (machine.joins_s > 0) events_.push({machine.joins_s, EventKind::kJoin, i});
    if (machine.leaves_s < trace_.ends_s) events_.push({machine.leaves_s, EventKind::kLeave, i});
  }
  if (run_.rebalance_s) events_.push({*run_.rebalance_s, EventKind::kPeriod});
  note();
  while (!events_.empty() && events_.top().at_s < trace_.ends_s) {
    const Event event = events_.top();
    events_.pop();
    now_s_ = event.at_s;
    happen(event);
    note();
  }
  return std::move(outcome_);
}

// Those that are there at the beginning are placed as a run places them; who is too many for equal numbers joins.
void SwarmSimulation::place_first() {
  std::vector<Worker> workers;
  for (std::size_t i = 0; i < trace_.machines.size(); ++i) {
    if (trace_.machines[i].joins_s > 0) continue;
    workers.push_back({ProcessIncarnation{i + 1}, trace_.machines[i].name});
  }
  const auto stages = static_cast<std::uint32_t>(run_.loads.size());
  const auto replicas = static_cast<std::uint32_t>(workers.size() / run_.loads.size());
  const auto placed = place(workers, stages, replicas);
  for (const Placement& placement : placed.value_or(std::vector<Placement>{})) {
    const auto machine = static_cast<std::size_t>(placement.process.value - 1);
    places_[machine] = {placement.stage.value};
    ++counts_[placement.stage.value];
    serve(machine, placement.stage.value);
  }
  for (const Worker& worker : workers) {
    const auto machine = static_cast<std::size_t>(worker.process.value - 1);
    if (!places_.contains(machine)) join(machine);
  }
}

void SwarmSimulation::happen(const Event& event) {
  switch (event.kind) {
    case EventKind::kJoin: join(event.machine); break;
    case EventKind::kLeave: leave(event.machine); break;
    case EventKind::kReady: {
      const auto place = places_.find(event.machine);
      if (place == places_.end() || place->second.copy != event.copy) break;
      serve(event.machine, place->second.stage);
      if (mover_ != event.machine) break;
      mover_.reset();
      if (is_round_open_) rebalance();
      break;
    }
    case EventKind::kPeriod:
      events_.push({now_s_ + *run_.rebalance_s, EventKind::kPeriod});
      rebalance();
      break;
  }
}

std::size_t SwarmSimulation::stage_of_newcomer() const {
  if (run_.newcomers == NewcomerRule::kCount) {
    return static_cast<std::size_t>(std::ranges::min_element(counts_) - counts_.begin());
  }
  // Those that copy will serve: what they will add counts, so that ten newcomers do not go to one stage.
  std::vector<double> capacities;
  for (const StageLoad& stage : swarm_.stages) capacities.push_back(capacity_of(stage));
  for (const auto& [machine, place] : places_) {
    if (!place.is_serving) capacities[place.stage] += trace_.machines[machine].speed / run_.loads[place.stage];
  }
  return weakest_stage(capacities);
}

double SwarmSimulation::copying_s(std::size_t machine, std::size_t stage) const {
  double up_bit_s = 0;
  for (const BalancedReplica& giver : swarm_.stages[stage].replicas) up_bit_s = std::max(up_bit_s, giver.up_bit_s);
  const double down_bit_s = trace_.machines[machine].down_bit_s;
  return run_.state_bits / (up_bit_s > 0 ? std::min(down_bit_s, up_bit_s) : down_bit_s) + run_.rule.warm_up_s;
}

void SwarmSimulation::join(std::size_t machine) {
  const std::size_t stage = stage_of_newcomer();
  copy_state(machine, stage, copying_s(machine, stage));
}

void SwarmSimulation::copy_state(std::size_t machine, std::size_t stage, double takes_s) {
  places_[machine] = {stage, false, now_s_, ++copies_};
  ++counts_[stage];
  events_.push({now_s_ + takes_s, EventKind::kReady, machine, copies_});
}

void SwarmSimulation::serve(std::size_t machine, std::size_t stage) {
  const SwarmMachine& is = trace_.machines[machine];
  places_[machine].is_serving = true;
  places_[machine].since_s = now_s_;
  swarm_.stages[stage].replicas.push_back({incarnation_of(machine), is.speed, is.down_bit_s, is.up_bit_s, 0});
}

void SwarmSimulation::stop_serving(std::size_t machine) {
  std::erase_if(swarm_.stages[places_[machine].stage].replicas,
                [&](const BalancedReplica& replica) { return replica.replica == incarnation_of(machine); });
}

void SwarmSimulation::leave(std::size_t machine) {
  const auto found = places_.find(machine);
  if (found == places_.end()) return;
  const std::size_t stage = found->second.stage;
  const double before = capacity_of(swarm_.stages[stage]);
  if (found->second.is_serving) stop_serving(machine);
  --counts_[stage];
  places_.erase(found);
  if (mover_ == machine) mover_.reset();
  if (run_.rebalance_s && is_urgent(swarm_.stages[stage], before, run_.rule)) rebalance();
}

// Each measured speed is off by an error of its own; normal, by Box and Muller's transform of two uniform numbers.
BalanceQuestion SwarmSimulation::as_measured(BalanceQuestion swarm) {
  constexpr std::uint64_t kSeed = 29;
  constexpr double kLeastShare = 0.1;  // of a speed: none is measured as negative
  if (run_.speed_error <= 0) return swarm;
  ++looks_;
  for (StageLoad& stage : swarm.stages) {
    for (BalancedReplica& replica : stage.replicas) {
      const auto bits = philox4x32(philox_counter(looks_, replica.replica.value), philox_key(kSeed));
      const double radius = std::sqrt(-2 * std::log(1 - uniform01(bits[0], bits[1])));
      const double normal = radius * std::cos(2 * std::numbers::pi * uniform01(bits[2], bits[3]));
      replica.speed *= std::max(kLeastShare, 1 + run_.speed_error * normal);
    }
  }
  return swarm;
}

void SwarmSimulation::rebalance() {
  swarm_.is_one_moving = mover_.has_value();
  for (StageLoad& stage : swarm_.stages) {
    for (BalancedReplica& replica : stage.replicas) {
      replica.served_s = now_s_ - places_.at(machine_of(replica.replica)).since_s;
    }
  }
  const auto decision = decide_move(as_measured(swarm_), run_.rule);
  is_round_open_ = decision.move.has_value() || swarm_.is_one_moving;
  if (!decision.move) return;
  const std::size_t machine = machine_of(decision.move->replica);
  stop_serving(machine);
  --counts_[places_[machine].stage];
  copy_state(machine, decision.move->to.value, decision.move->takes_s);
  mover_ = machine;
  ++outcome_.moves;
}

void SwarmSimulation::note() {
  double least = capacity_of(swarm_.stages.front());
  for (const StageLoad& stage : swarm_.stages) least = std::min(least, capacity_of(stage));
  auto& moments = outcome_.throughput;
  if (!moments.empty() && moments.back().at_s == now_s_) return void(moments.back().value = least);
  if (moments.empty() || moments.back().value != least) moments.push_back({now_s_, least});
}

}  // namespace shoal
