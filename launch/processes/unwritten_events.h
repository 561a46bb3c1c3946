// Events that a spawner's process could not get into metrics.jsonl before it ended, told by the start that goes on with
// the run: why the process gave itself up when nobody in it could be told, how the run failed where no metrics actor
// was alive to say so, and a checkpoint that was complete on the disk.
//
// metrics.jsonl has one writer at a time. So they wait in a file of their own until the next start, and stand
// before what that start says. Its name, untold.jsonl, is that of runs which an earlier version left.
#pragma once

#include "launch/processes/run_directory.h"
#include "runtime/cluster/truth/supervisor_effects.h"
#include "runtime/trace/metrics/step_record.h"

namespace shoal {

// For the next start. What is left already stays. Errors: kIo.
[[nodiscard]] Status leave_unwritten(const RunDirectory& run, const RunEvent& event, WallTime now);

// Before the lines of the next start. A "failed" gets the summary of the lines before it, and is passed over where they
// end with one. Twice is as good as once. Errors: kIo.
[[nodiscard]] Status tell_left(const RunDirectory& run);

// The same, and a checkpoint; before metrics starts. `start`: where the run goes on from.
[[nodiscard]] Status tell_unwritten(const RunDirectory& run, const StartPoint& start, WallTime now);

}  // namespace shoal
