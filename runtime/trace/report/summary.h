// Tables of what a run spent its time on: per actor and kind of work, per kind of letter, per part of a step; and what
// happened to its processes, with how their clocks lie to each other.
#pragma once

#include <string>

#include "runtime/trace/report/run_trace.h"

namespace shoal {

[[nodiscard]] std::string summary_text(const RunTrace& trace);

}  // namespace shoal
