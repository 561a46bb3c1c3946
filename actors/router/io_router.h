// The router on the thread of the links.
//
// Nearly every letter comes over a connection or leaves by one. A router of the scheduler's workers would be woken for
// each, and wake the thread of the links again to send: on a machine whose processors compute, each such wake takes a
// processor away from a stage. Here the frames of a connection are read, judged and sent on in one wake.
#pragma once

#include "actors/router/router.h"

namespace caf {
class actor_system;
}

namespace shoal {

// Needs the I/O module. What the router does with a letter must not wait, because nothing arrives meanwhile.
[[nodiscard]] RouterActor spawn_io_router(caf::actor_system& system, RouterConfig config);

}  // namespace shoal
