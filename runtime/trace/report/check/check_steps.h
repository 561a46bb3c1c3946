// S-1 and S-4 of accumulations without their commit, S-3 of states: what the events about one step say of it.
//
// Nothing of one step is needed for another.
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/trace/report/check/check_digests.h"
#include "runtime/trace/report/check/findings.h"
#include "runtime/trace/report/pieces/event_window.h"

namespace shoal {

// Reports a microbatch that was accumulated twice between two zeroings, or by a replica of another branch or stage, to
// `findings`; states go to `digests`. Errors: those of the pieces.
[[nodiscard]] Status check_steps(const WindowedTrace& trace, const TracedMembers& members, StateDigests& digests,
                                 std::vector<TimedViolation>& findings, CheckMemory& memory);

}  // namespace shoal
