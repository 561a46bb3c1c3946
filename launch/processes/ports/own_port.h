// The one port of a process, to which everything comes (runtime/transport/port_protocol.h): opened once, with patience
// while a predecessor may still hold it.
#pragma once

#include <chrono>
#include <optional>

#include "runtime/base/error.h"
#include "runtime/transport/sockets.h"

namespace shoal {

struct OwnPort {
  Socket listener;
  std::optional<int> signal;  // came meanwhile, and was taken: nobody listens
};
// Waits for a port that somebody else has: a predecessor may not have let it go, or it is some dial's for a moment.
// Errors: kUsage, naming the address, after `patience`.
[[nodiscard]] Result<OwnPort> listen_patiently(const HostPort& address,
                                               std::chrono::milliseconds patience = std::chrono::seconds(10));

}  // namespace shoal
