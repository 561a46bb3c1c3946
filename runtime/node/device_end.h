// Makes what a process tells the supervisor before it ends because its device is of no use any more (P-28b).
//
// The reason stands in the run's events as that of the stage whose work met the fault. Its microbatch is suspected
// (P-20a), unless the device had no memory left: that is no evidence against it. Where another stage of the process
// computes meanwhile, nothing is suspected: every stream of a device fails with the first, and the stage that looks
// first meets the fault. Nothing of other stages is left behind. Pure but for the note.
#pragma once

#include <string>

#include "messages/supervision.h"
#include "runtime/trace/work_note.h"

namespace shoal {

[[nodiscard]] StageEnded end_by_device(const SpawnStage& order, const std::string& reason, WorkNote& note);

}  // namespace shoal
