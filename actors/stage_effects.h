// Performs what a replica's core answers, on its thread: letters to the router, jobs to the executor, with their
// traces.
#pragma once

#include "actors/stage.h"

namespace shoal {

using StageSelf = StageActor::stateful_pointer<StageState>;

[[nodiscard]] inline Instant now(StageSelf self) { return self->clock().now(); }

void perform(StageSelf self, Effects effects);

// The oldest job has ended: its result goes to the core, and what the core answers is performed. Rethrows what the
// executor threw, which ends the actor.
void take_end(StageSelf self, const JobEnd& end);

// Names the step that this replica works on, for a trace.
[[nodiscard]] Cause trace_cause(StageSelf self, MicrobatchId microbatch);

}  // namespace shoal
