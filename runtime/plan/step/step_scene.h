// A scene of a step simulation: which machine serves which stage, how fast it is and when, and what every link carries.
//
// Pure. Times are of one pass: a forward is one, a backward two, of which the weights' gradients are one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "runtime/base/config.h"
#include "runtime/plan/resources/run_plan.h"

namespace shoal {

// Describes the link of one process to all others, each way. Of two processes the slower rate and longer latency hold.
struct StepLink {
  double latency_s = 0;
  double bit_s = std::numeric_limits<double>::infinity();
};

[[nodiscard]] inline StepLink link_between(const StepLink& a, const StepLink& b) {
  return {std::max(a.latency_s, b.latency_s), std::min(a.bit_s, b.bit_s)};
}

// A machine's time for a pass of a stage of load 1, from one moment of the run on.
struct PassTime {
  double from_s = 0;
  double pass_s = 0;
};

struct StepMachine {
  std::string name;
  std::size_t stage = 0;         // at the start
  std::vector<PassTime> passes;  // ascending, the first from 0 on
  StepLink link;
};

// A machine's time for a pass of a stage of load 1 at that moment.
[[nodiscard]] double pass_s_at(const StepMachine& machine, double now_s);

struct StepScene {
  Config config;
  std::vector<StepMachine> machines;
  std::vector<BorderTraffic> borders;  // bytes of one microbatch between a stage and the next one
  double token_bytes = 0;              // of one microbatch, from the data loader to the first stage
  double answer_bytes = 0;             // of one microbatch, back to it
  std::vector<double> sum_bytes;       // per stage: what a member contributes to a step's sum, as it travels
  std::vector<double> state_bytes;     // per stage: what a newcomer copies
  std::vector<double> loads;           // per stage: passes are of a load of 1
  StepLink spawner;
  double commit_s = 0.02;
  std::size_t steps = 6;
};

// Returns what a step takes with the best split of its whole microbatches over each stage's machines: of the slowest
// stage, at the speeds of that moment, with every machine where it is at the start, and without links.
[[nodiscard]] double best_split_s(const StepScene& scene, double now_s);

// The machines of a plan, stage by stage, and its bytes; several of one kind are called NAME.1, NAME.2 and so on.
// Ensures that the plan has speeds.
[[nodiscard]] StepScene scene_of(const RunPlan& plan);

}  // namespace shoal
