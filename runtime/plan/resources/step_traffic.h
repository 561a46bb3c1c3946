// Bytes that the replicas of a run send in a step, as `bytes{}` of metrics.jsonl counts them: letters with tensors.
//
// Tokens of the first stage are the spawner's and are not in them; nor are those that stay within a process. An
// undisturbed step: nothing is sent twice.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/base/config.h"
#include "runtime/plan/resources/cut_stage.h"

namespace shoal {

// Traffic between a stage and the next one, all replicas together.
struct BorderTraffic {
  std::uint64_t activation = 0;
  std::uint64_t gradient = 0;
};

struct StepTraffic {
  std::vector<BorderTraffic> borders;            // one fewer than stages
  std::uint64_t answers = 0;                     // from the first stage to the data loader
  std::vector<std::uint64_t> reduce_per_member;  // index = stage; of a step, and with rounds of a round's step
  std::vector<std::uint64_t> state_copy;         // index = stage; to one newcomer, once
  std::uint64_t activation = 0, gradient = 0, reduce = 0;  // sums over all replicas
};

// replicas: per stage.
[[nodiscard]] StepTraffic step_traffic(const Config& config, const std::vector<CutStage>& stages,
                                       const std::vector<std::size_t>& replicas);

}  // namespace shoal
