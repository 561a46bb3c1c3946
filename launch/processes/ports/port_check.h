// Finds out whether others reach this process's port, and says so while they do not
// (runtime/transport/control/reach.h).
#pragma once

#include <vector>

#include "launch/processes/actor_process.h"
#include "runtime/transport/control/reach.h"
#include "runtime/transport/sockets.h"

namespace shoal {

struct PortQuestion {
  std::string name;            // of the node, for its log
  std::vector<HostPort> join;  // spawners that may be asked
  TlsFiles files;
  HostPort own;  // as it is announced
  PortChoice choice = PortChoice::kAny;
};
// Asks until the answer is that it is reached. A detached actor, because it waits for answers; owned by the process.
void spawn_port_check(ActorProcess& process, PortQuestion question);

}  // namespace shoal
