// Policies side by side over the same traces: how much of the optimum each of them reaches.
//
// Every seed is a trace of its own; figures are means over the seeds. Pure.
#pragma once

#include <optional>
#include <vector>

#include "runtime/plan/swarm/swarm_simulation.h"

namespace shoal {

struct SwarmOrder {
  SwarmModel model;
  std::optional<SwarmTrace> trace;  // in place of drawn ones
  std::size_t seeds = 10;
  std::size_t stages = 0;                          // 0: as stages_of says
  std::vector<std::optional<double>> rebalance_s;  // the policies; none: nobody moves
  SwarmRun run;                                    // rebalance_s and loads of it are filled in
};

// Returns the number of stages: as ordered, else N^(2/3) / 3.6 for N machines at the beginning, at least 2. Stages and
// replicas per stage both grow with a swarm; of 1000 machines 28 stages have 36 each.
[[nodiscard]] std::size_t stages_of(const SwarmOrder& order);

struct SwarmPolicyResult {
  std::optional<double> rebalance_s;
  double percent_of_optimal = 0;
  double first_hour = 0, last_hour = 0;  // percent of optimal in these
  double worst_seed = 0;                 // percent of optimal
  double moves = 0;                      // of a seed
  std::vector<Moment> percent;           // over time, of the first seed, a value for each minute
};

struct SwarmComparison {
  SwarmOrder order;
  std::size_t stages = 0;
  double hours = 0;
  double nodes = 0;  // mean number alive
  std::vector<SwarmPolicyResult> policies;
};

[[nodiscard]] SwarmComparison compare(const SwarmOrder& order);

}  // namespace shoal
