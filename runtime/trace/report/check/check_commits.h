// S-1 and S-4 of each commit: manifests against the plan and the view, accumulations against the manifests; and the
// sums of its epochs (S-3).
#pragma once

#include <cstddef>

#include "runtime/trace/report/check/check_digests.h"
#include "runtime/trace/report/check/check_journal.h"
#include "runtime/trace/report/check/check_passing.h"
#include "runtime/trace/report/check/findings.h"
#include "runtime/trace/report/pieces/event_window.h"

namespace shoal {

// Appends to the report. `journal` has seen all entries. Errors: those of the pieces.
[[nodiscard]] Status check_commits(const WindowedTrace& trace, const JournalCheck& journal, const PassingFacts& passing,
                                   SumDigests& sums, CheckReport& report);

}  // namespace shoal
