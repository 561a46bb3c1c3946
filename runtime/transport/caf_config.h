// The actor library's settings for every process of a run (CAF.md §1). Set in code alone: its own parser reads a file
// of the working directory and lets arguments override what security rests on.
#pragma once

#include <chrono>

namespace caf {
class actor_system_config;
}

namespace shoal {

struct CafSettings {
  std::size_t threads = 4;                              // workers of scheduled actors
  std::chrono::milliseconds heartbeat_interval{500};    // equal on both sides of a connection
  std::chrono::milliseconds connection_timeout{10000};  // swarm.dead_after_ms; a silent peer is down after it
};

// Loads the I/O module and sets policy, heartbeats and time-outs. The caller adds the message types of its program.
void configure_caf(caf::actor_system_config& config, const CafSettings& settings);

}  // namespace shoal
