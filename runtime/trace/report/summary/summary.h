// Tables of what a run spent its time on: per actor and kind of work, per kind of letter, per part of a step; and what
// happened to its processes, with how their clocks lie to each other.
//
// Events are read twice and none is kept: once as they lie in the files, for what needs no order; once in the order of
// time, in windows. Pure but for the pieces.
#pragma once

#include <cstddef>
#include <string>

#include "runtime/base/error.h"
#include "runtime/trace/report/pieces/event_window.h"
#include "runtime/trace/report/run_trace.h"

namespace shoal {

struct TraceSummary {
  std::string text;
  std::size_t most_events = 0;   // that a window had
  std::size_t most_letters = 0;  // that were waited for at once
};

// Errors: those of the pieces.
[[nodiscard]] Result<TraceSummary> summarise_trace(const EventPieces& pieces,
                                                   std::size_t window_events = kWindowEvents);

// Summarises a trace that is in memory.
[[nodiscard]] std::string summary_text(const RunTrace& trace);

}  // namespace shoal
