// Ports of a process, and how large it has been: what an attack needs to know, and what it may not change.
// Read from /proc: the process need not help.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

namespace shoal::guest {

// The TCP ports (IPv4) that the process listens at, as /proc says.
[[nodiscard]] std::vector<std::uint16_t> listening_ports(pid_t process);
// The most memory that it ever had, in KiB; 0: it is gone.
[[nodiscard]] std::uint64_t peak_memory_of(pid_t process);

}  // namespace shoal::guest
