// Warns of a name to listen at that stands for this machine's loopback. Debian's /etc/hosts gives the machine's own
// name 127.0.1.1: a process that listens at $(hostname) is reached from its own machine, and from no other.
#pragma once

#include <string>
#include <vector>

#include "runtime/transport/sockets.h"

namespace shoal {

// Returns the sentence, which names an address to give instead where the machine has one. Empty: no such name. A number
// and a name of localhost say what is meant. resolved: numeric, the first is where a listener listens; machine:
// numeric.
[[nodiscard]] std::string loopback_warning(const HostPort& given, const std::vector<std::string>& resolved,
                                           const std::vector<std::string>& machine);

// The same, as this machine resolves the name now.
[[nodiscard]] std::string loopback_warning(const HostPort& given);

}  // namespace shoal
