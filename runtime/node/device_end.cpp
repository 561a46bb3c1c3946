// The note is closed last: what this replica and others were at is read from it.
#include "runtime/node/device_end.h"

#include "runtime/base/machine/memory_lack.h"

namespace shoal {

StageEnded end_by_device(const SpawnStage& order, const std::string& reason, WorkNote& note) {
  StageEnded ended{order.stage, order.replica, reason, {}};
  const auto work = note.take(order.replica);
  const bool is_evidence = !note.has_work() && !tells_of_memory_lack(reason);
  if (work && is_evidence) ended.computing = ComputedMicrobatch{work->step, work->microbatch};
  note.close();
  return ended;
}

}  // namespace shoal
