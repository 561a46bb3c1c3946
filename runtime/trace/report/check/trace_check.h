// Checks from a run's trace alone that it kept its invariants (DESIGN.md §10: S-1, S-2, S-3, S-4, S-6).
//
// Manifests in commit records are authoritative: what a commit counted is what they say. What the replicas recorded
// must agree with them; an accumulation may be missing only for a replica whose process was cut off, and only when it
// can have happened in the last 200 ms of which there is a sign of life, which a killed process had not written yet.
// At level `lifecycle` replicas record no accumulations: the report says what therefore was not checked.
// Every violation names the rule, the step, the stage, the replica and what is wrong there.
//
// The events are read several times and none is kept: a check holds those of some steps at a time, so that a run of a
// month is checked in the memory of one of an hour. Pure but for the pieces.
#pragma once

#include <cstddef>
#include <string_view>

#include "runtime/trace/report/check/findings.h"
#include "runtime/trace/report/pieces/event_window.h"
#include "runtime/trace/report/run_trace.h"

namespace shoal {

// Errors: those of the pieces, which say nothing of the run.
[[nodiscard]] Result<CheckReport> check_trace(const EventPieces& pieces, std::size_t window_events = kWindowEvents);

// Checks a trace that is in memory.
[[nodiscard]] CheckReport check_trace(const RunTrace& trace, std::size_t window_events = kWindowEvents);

// "S-1"; "trace" for a trace that cannot be a whole one.
[[nodiscard]] std::string_view name_of(Rule rule);
// "S-1 every planned microbatch is accumulated exactly once per stage in each committed step".
[[nodiscard]] std::string_view text_of(Rule rule);

}  // namespace shoal
