// Asks whether an actor of the same process is there: an actor that depends on it asks, and an answer says that it is.
//
// Asked by a supervisor of its children and its router, by a node agent of its stages; never leaves a process.
#pragma once

#include <cstdint>

namespace shoal {

struct Ping {};

// A stage's answer to it: what it has computed.
struct WorkSoFar {
  std::uint64_t pieces = 0;
  double longest_ms = 0;  // one of them
};

}  // namespace shoal
