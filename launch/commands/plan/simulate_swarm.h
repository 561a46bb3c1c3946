// `shoal simulate swarm`: what rebalancing keeps of a swarm of unequal machines that come and go.
// runtime/plan/swarm decides what is simulated and how it is told.
#pragma once

#include <optional>
#include <string>

#include "launch/commands/inspect/inspect.h"
#include "launch/options.h"
#include "runtime/base/error.h"
#include "runtime/plan/swarm/swarm_comparison.h"

namespace shoal {

struct SimulateSwarmOptions {
  SwarmOrder order;
  OutputForm form = OutputForm::kText;
  std::optional<std::string> svg;
  std::optional<std::string> trace_out;  // where the first seed's trace is written
};

// Reads the trace's file where --trace names one.
[[nodiscard]] Result<SimulateSwarmOptions> simulate_swarm_options(const Options& options);
[[nodiscard]] Result<int> run_simulate_swarm(const SimulateSwarmOptions& options);

}  // namespace shoal
