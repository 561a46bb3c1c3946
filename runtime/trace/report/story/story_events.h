// The events that the story of one microbatch is told from, picked out of a run of any length.
//
// They are the microbatch's own and the plans of its step; all that happened from the first to the last of them, or to
// the commit, on each branch; the commits of the step with their parts; all records of the entries that were made
// meanwhile; every added replica, for its name; and the words on how lives ended. The pieces are read three times.
#pragma once

#include <cstddef>

#include "runtime/base/error.h"
#include "runtime/trace/report/pieces/event_pieces.h"

namespace shoal {

struct MicrobatchName {
  StepId step;
  MicrobatchId microbatch;
};

// The commit itself and what was on its way are told behind it.
inline constexpr std::int64_t kAfterCommitNs = 1'000'000;

// True for an event of a microbatch's own: its cause names one.
[[nodiscard]] bool names_microbatch(const TraceEvent& event);
[[nodiscard]] bool is_of(const TraceEvent& event, MicrobatchName name);

// Returns the trace with these events alone, which tells the same story. Errors: those of the pieces.
[[nodiscard]] Result<RunTrace> events_of_story(const EventPieces& pieces, MicrobatchName name);

}  // namespace shoal
