// The tensor copier: brings values from their device to the host for the router of its process, in the order in which
// it is asked.
//
// It waits for the device, which no router may; so it has a thread of its own, which the first copy starts.
#pragma once

#include "messages/actor_types.h"

namespace caf {
class actor_system;
}

namespace shoal {

// Answers the router with TensorCopied. Detached, because it waits.
TensorCopierActor::behavior_type tensor_copier(TensorCopierActor::pointer self, const RouterActor& router);

[[nodiscard]] caf::actor spawn_tensor_copier(caf::actor_system& system, const RouterActor& router);

}  // namespace shoal
