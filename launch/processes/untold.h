// What a spawner's process knew and could not get into metrics.jsonl before it ended, told by the one that goes on with
// the run: why it gave itself up when nobody in it could be told, and a checkpoint that was complete on the disk.
//
// metrics.jsonl has one writer at a time. So the words wait in a file of their own until the next start.
#pragma once

#include "launch/processes/run_directory.h"
#include "runtime/cluster/supervisor/supervisor_effects.h"
#include "runtime/trace/metrics/step_record.h"

namespace shoal {

// For the next start. What is left already stays. Errors: kIo.
[[nodiscard]] Status leave_untold(const RunDirectory& run, const RunEvent& event, WallTime now);

// Before metrics starts. `start`: where the run goes on from. Twice is as good as once. Errors: kIo.
[[nodiscard]] Status tell_untold(const RunDirectory& run, const StartPoint& start, WallTime now);

}  // namespace shoal
