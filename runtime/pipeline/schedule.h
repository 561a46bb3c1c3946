// Pipeline schedules are mailbox policies, not code paths (design.md §3): how many microbatches may be in flight on one
// path is all that tells them apart for whoever sends.
//
// afab: every microbatch of the step at once. 1f1b: one per stage and one on the wire, so that a replica always has the
// next one to begin with while an answer comes back.
#pragma once

#include <algorithm>
#include <cstdint>

#include "runtime/base/config.h"

namespace shoal {

// Microbatches in flight per replica of stage 0; pipeline.credits rules when it is set. At least 1, at most a step's.
[[nodiscard]] inline std::uint32_t credits_per_path(const Config& config) {
  const int microbatches = microbatches_per_step(config);
  int credits = config.pipeline.credits;
  if (credits <= 0) credits = config.pipeline.schedule == Schedule::k1f1b ? config.pipeline.stages + 1 : microbatches;
  return static_cast<std::uint32_t>(std::clamp(credits, 1, std::max(microbatches, 1)));
}

}  // namespace shoal
