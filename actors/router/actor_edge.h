// Performs with CAF what the core of a router wants done outside: messages to local actors, frames, dials, the timer.
// It decides nothing, and is called by the core alone.
#pragma once

#include <memory>

#include "actors/router/router.h"

namespace shoal {

// It looks up handles in self->state, where it is kept.
[[nodiscard]] std::unique_ptr<RouterEdge> make_actor_edge(RouterActor::stateful_pointer<RouterState> self);

}  // namespace shoal
