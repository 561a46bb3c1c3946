// The queues of a replica: their bounds (S-6), and how full they are.
//
// All else that a replica holds is bounded by the microbatches of a step.
#pragma once

#include <cstddef>

#include "runtime/base/bound.h"

namespace shoal {

inline const Bound kHeldPartsMax{"pipeline.held_parts", 4096};   // parts of kBucketBytes each
inline const Bound kEvaluationsMax{"pipeline.evaluations", 64};  // unanswered at a time, or 2 x microbatches if more

inline const Bound kWaitingMax{"pipeline.waiting_forwards", 64};  // and two of each microbatch

struct ReplicaFill {
  std::size_t waiting = 0;  // Forwards that came before their step or their sender
  std::size_t waiting_max = 0;
  std::size_t held_parts = 0;
  std::size_t evaluations = 0;
  std::size_t evaluations_max = 0;
};

}  // namespace shoal
