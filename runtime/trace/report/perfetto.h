// A run's trace as a file that ui.perfetto.dev and chrome://tracing open (the Trace Event Format, JSON).
//
//   process   one per process of the run: the spawner, storage, nodes
//   track     one per actor; a replica, a sync group in each of its incarnations
//   slice     work of stages and storage, letters of routers, steps of the data loader and the supervisor, phases of
//             sync groups; on one track nested or disjoint
//   arrow     a letter from its sending to its arrival; work to the work that its letter led to
//   instant   faults, restarts, views, commits, what people are told, deaths of processes
//   counter   replicas in the view, microbatches accumulated in the step, highest fill of queues
//
// Times are microseconds since the first process began. Letters that never came have no arrow.
#pragma once

#include <string>

#include "runtime/trace/report/run_trace.h"

namespace shoal {

// The whole file.
[[nodiscard]] std::string perfetto_json(const RunTrace& trace);

}  // namespace shoal
