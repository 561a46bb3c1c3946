// The TLS middleman: the actor library's own middleman, whose listening and dialled sockets are TLS streams with a
// guard on every frame. It replaces the library's TLS module, in which a stranger can deafen others (CAF.md §3).
#pragma once

#include <caf/actor_system.hpp>
#include <caf/io/middleman_actor.hpp>
#include <memory>

#include "runtime/transport/tls_stream.h"

namespace shoal {

// Spawned detached and hidden. A dial blocks it for at most the dial time-out. End it with exit_reason::kill.
[[nodiscard]] caf::io::middleman_actor spawn_tls_middleman(caf::actor_system& system, std::shared_ptr<TlsDoor> door);

}  // namespace shoal
