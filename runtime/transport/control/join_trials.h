// The connections that a node of a run makes, as `shoal doctor --join` tries them: which, in which order, and what to
// do where one does not come about. They need no certificate: a port says what it is for before it asks for one.
#pragma once

#include <string>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/transport/identity.h"
#include "runtime/transport/port_protocol.h"
#include "runtime/transport/sockets.h"

namespace shoal {

struct JoinTrial {
  std::string what;
  HostPort address;
  PortProtocol protocol = PortProtocol::kControl;
  std::string remedy;  // where nobody answers
  PeerRole whom = PeerRole::kSpawner;
};
// Lists them in the order of a node's start, of a spawner that was told where to listen. Pure. Errors: kUsage (its port
// is the last one: storage could have none).
[[nodiscard]] Result<std::vector<JoinTrial>> join_trials(const HostPort& spawner);
// Dials and shakes hands as that protocol; nothing is said after that. Errors: kUnreachable.
[[nodiscard]] Status attempt(const JoinTrial& trial);
// Returns what to do about one that failed: also by who answers there, which it asks.
[[nodiscard]] std::string remedy_of(const JoinTrial& trial);

}  // namespace shoal
