// Tries every port of a process with a certificate, from an address of the test's choice; and reads what the kernel
// says of its connections.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "runtime/transport/certificates.h"

namespace shoal {

// Connections of a process that neither side has ended.
[[nodiscard]] std::size_t live_connections(pid_t pid);

// True when the process at 127.0.0.1:port says anything but a refusal to a peer that shows this certificate, comes from
// the address `source` and asks as nodes do: for a link's greeting, or the control endpoint for the rendezvous.
[[nodiscard]] bool lets_in(const std::string& source, std::uint16_t port, const TlsFiles& files);

}  // namespace shoal
