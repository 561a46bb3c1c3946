// A limit on the time that the end of a process takes, which needs neither a thread nor memory: where a machine gives
// no more of either, an orderly end may wait for ever for a thread that could not be started.
//
//   limit_end ──▶ the process ends by itself
//       └─ after the limit: a signal of the kernel's timer; its handler writes one line to stderr, and the process ends
//
// State is safe at any instant, so such an end loses nothing.
#pragma once

#include <chrono>
#include <string>

namespace shoal {

// Gives this process so long to end from here on, at least a second. who: begins the line.
void limit_end(const std::string& who, std::chrono::seconds limit, int status);

}  // namespace shoal
