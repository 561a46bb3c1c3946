// How a process's router reaches others: over the process's own TLS transport.
// Apart from the processes themselves, because the spawner, storage and workers all need it.
#pragma once

#include "actors/router/router.h"
#include "launch/processes/actor_process.h"
#include "runtime/transport/control/enrolment.h"

namespace shoal {

// For a process of the run; a process other than the spawner finds the spawner by the dialler that its wiring adds.
[[nodiscard]] RouterConfig router_config(ActorProcess& process, ProcessRole role, const std::string& name,
                                         const Rendezvous& rendezvous);
// Returns the peers that such a process refuses until it hears more from the spawner.
[[nodiscard]] std::shared_ptr<RevokedCertificates> revoked_by(const Rendezvous& rendezvous);

}  // namespace shoal
