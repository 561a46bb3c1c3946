// Plans a configuration: the cut, bytes per stage and device, bytes per link and step, tokens per second, what does not
// fit and what would, and what one more machine brings.
//
// Pure. Speeds come in as machine kinds; without one there are bytes and no times. Machines are given to stages as the
// best assignment (runtime/cluster/balance); a run without rebalancing places the same number in every stage.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/cluster/balance/machine_places.h"
#include "runtime/plan/resources/cut_stage.h"
#include "runtime/plan/resources/machine_kinds.h"
#include "runtime/plan/resources/memory_need.h"
#include "runtime/plan/resources/step_time.h"
#include "runtime/plan/resources/step_traffic.h"

namespace shoal {

struct PlanOrder {
  Config config;
  ModelCuts model;
  std::vector<MachineKind> kinds;             // empty: no speeds
  std::optional<std::uint64_t> memory_bytes;  // of a machine whose kind says none
  std::optional<double> link_bit_s;           // of every machine, each way; none: links take no time
  double commit_s = 0.02;                     // of a step: agreement, journal and update
};

struct PlannedStage {
  CutStage cut;
  std::vector<MachineKind> machines;  // those that serve it; without speeds, none
  std::size_t replicas = 0;
  MemoryNeed memory;
  CreditNeed credits;
  std::uint64_t on_gpu = 0;  // bytes of a GPU's memory where it computes on one, with all its credits (device_fit.h)
  std::uint64_t beside_gpu = 0;  // bytes of its machine's memory there (host_need.h)
  bool fits = true;  // in the least memory of its machines, where that is known, with all its credits at most
};

// One more machine of a kind.
struct OneMore {
  std::string kind;
  double tokens_per_s = 0;
  std::size_t stage = 0;  // where it would serve
};

// Another cut, for machines that are unequal.
struct ProposedCut {
  std::vector<int> layers;  // of each stage: pipeline.cut
  double tokens_per_s = 0;
};

struct RunPlan {
  Config config;
  std::vector<PlannedStage> stages;
  StepTraffic traffic;
  std::optional<StepTime> time;
  std::optional<double> tokens_per_s;
  std::optional<double> price_per_billion_tokens;
  std::vector<OneMore> one_more;
  std::optional<ProposedCut> better_cut;  // only one that is noticeably faster, and fits where this one does
  std::vector<std::string> would_fit;     // settings with which every stage fits; empty: it fits, or nothing was found
  std::vector<std::string> would_fit_together;  // all of them at once, where none alone is enough
  bool fits = true;
};

// Returns the time of one pass of a microbatch: a forward is one, a backward two. Ensures that the speed is known.
[[nodiscard]] double pass_s_of(const MachineKind& machine, const CutStage& stage, const Config& config);

// Errors: kUsage, for a configuration that cannot be cut, or fewer machines than stages.
[[nodiscard]] Result<RunPlan> plan_run(const PlanOrder& order);

}  // namespace shoal
