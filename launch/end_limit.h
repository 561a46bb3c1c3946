// A limit on the time that the end of a process takes, or the start of its actors, which needs neither a thread nor
// memory: where a machine gives no more of either, both may wait for ever for a thread that could not be started.
//
//   limit_end ────▶ the process ends by itself
//   StartLimit ───▶ it is destroyed: the start is over
//       └─ after the limit: a signal of the kernel's timer; its handler writes one line to stderr, and the process ends
//
// State is safe at any instant, so such an end loses nothing.
#pragma once

#include <chrono>
#include <string>

namespace shoal {

// Gives this process so long to end from here on, at least a second. who: begins the line.
void limit_end(const std::string& who, std::chrono::seconds limit, int status);

// Gives the start of this process so long, from its construction to its destruction. One at a time, before limit_end().
class StartLimit {
 public:
  StartLimit(const std::string& who, std::chrono::seconds limit, int status);
  ~StartLimit();
  StartLimit(const StartLimit&) = delete;
  StartLimit& operator=(const StartLimit&) = delete;
};

}  // namespace shoal
