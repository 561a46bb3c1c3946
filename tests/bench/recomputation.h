// Work that was computed in vain and had to be computed again, by the trace alone (level `all`): every microbatch that
// a replica accumulated for a committed step and that the commit does not count for it.
//
// The work of a dead member in the step in progress is lost with it, and no more may be: a replica that lived on and
// whose work was thrown away would say that a fault costs others, too.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/trace/report/run_trace.h"

namespace shoal {

struct Recomputation {
  std::uint64_t steps = 0;            // committed, with the manifests of all stages known
  std::uint64_t counted = 0;          // microbatches times stages that commits count
  std::uint64_t lost_with_dead = 0;   // accumulated by replicas that are not in the commit
  std::uint64_t lost_by_living = 0;   // accumulated by members of the commit, which does not count it
  std::vector<std::uint64_t> losses;  // for each step that lost any, ascending
};

[[nodiscard]] Recomputation recomputation_of(const RunTrace& trace);

void print_recomputation(const Recomputation& recomputation);

}  // namespace shoal
