// Pipeline schedules are mailbox policies, not code paths (DESIGN.md §3): how many microbatches may be in flight per
// replica is all that tells them apart for whoever sends.
//
// afab: every microbatch of the step at once. 1f1b: one per stage and one on the wire, so that a replica always has the
// next one to begin with while an answer comes back.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "messages/ids.h"
#include "runtime/base/config.h"

namespace shoal {

// Microbatches in flight per replica, of each stage; pipeline.credits rules when it is set. At least 1, at most a
// step's.
[[nodiscard]] inline std::uint32_t credits_per_first_replica(const Config& config) {
  const int microbatches = microbatches_per_step(config);
  int credits = config.pipeline.credits;
  if (credits <= 0) credits = config.pipeline.schedule == Schedule::k1f1b ? config.pipeline.stages + 1 : microbatches;
  return static_cast<std::uint32_t>(std::clamp(credits, 1, std::max(microbatches, 1)));
}

// At the end of a step the stages before wait for their last answers: those go out before the weights' gradients are
// computed, which then fill what would be idle time (Qi et al., "Zero Bubble Pipeline Parallelism", 2023). As many per
// replica as there are stages that still have a backward to run; earlier ones are computed at once, which costs less
// because what they are made of is still in the caches.
[[nodiscard]] inline std::uint32_t answers_first(StageId stage) { return stage.value == 0 ? 0 : stage.value + 1; }

// A step's microbatches are given out in the order of their numbers: the highest ones are each replica's last ones.
[[nodiscard]] inline bool is_answered_first(MicrobatchId microbatch, std::uint32_t microbatch_count, StageId stage,
                                            std::size_t replicas) {
  return microbatch.value + replicas * answers_first(stage) >= microbatch_count;
}

// How many of them may wait while there is other work: each keeps the inputs and output gradients of the layers'
// projections, about as much memory as a graph; the head's, which a large vocabulary makes large, are never left. With
// recomputation, which is for who has little memory, none.
[[nodiscard]] inline std::size_t accumulations_that_may_wait(const PipelineConfig& pipeline, StageId stage) {
  return pipeline.recompute ? 0 : answers_first(stage);
}

}  // namespace shoal
