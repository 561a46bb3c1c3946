// How the spawner process is started, and started again by its keeper.
//
// Nodes may be there at the first start, too: a person goes on with a run whose spawner was lost. So what only the
// first start is told does not follow from that, but from who starts it: a wait for nodes is bounded once, for the
// person who waits for the run to begin. A spawner that its keeper starts again waits for nodes without end.
#pragma once

#include "launch/commands/run/keepers.h"
#include "launch/keeper.h"

namespace shoal {

// The process's own words and the progress line go to the person's terminal; its log goes to logs/.
[[nodiscard]] Ward spawner_ward(const KeepSpawnerOptions& options);

}  // namespace shoal
