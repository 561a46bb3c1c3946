// Finds the spawner anew at every dial: it listens elsewhere after each start, and may have moved to another machine.
//
// Each dial asks one address whether the spawner of the run is there, and dials it; the next dial asks the next address
// when this one gave nothing. The router dials for ever, with back-off, so a lost spawner is looked for as
// long as the process lives, unless the spawner speaks another protocol by now, or says that this process was thrown
// out of the run: then the process ends (exit 4). Answers within the caller's time-out: a question is never longer than
// kAskTimeouts.
#pragma once

#include <functional>
#include <vector>

#include "launch/processes/actor_process.h"
#include "runtime/transport/control/control_client.h"

namespace shoal {

struct SpawnerSearch {
  // Names the addresses to ask and dial, in this order, anew at each dial. Called on the dialler's own thread.
  std::function<std::vector<HostPort>()> endpoints;
  TlsFiles files;
  std::shared_ptr<RevokedCertificates> revoked = nullptr;  // the process's own; filled in
};

// Whom a router sends (connect_atom, host, port) to instead of the transport's dialler; host and port are not looked
// at. Detached, because it waits for answers; owned by the process.
[[nodiscard]] caf::actor spawn_spawner_dialler(ActorProcess& process, SpawnerSearch search);

}  // namespace shoal
