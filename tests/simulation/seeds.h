// Which seeds a test of the simulation runs: its own few, or those that tests/simulate asks for. Whatever fails names
// its seed, because a run that cannot be seen again is worth little.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/simulation_verdict.h"

namespace shoal {

[[nodiscard]] inline std::uint64_t number_from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr && *text != '\0' ? std::stoull(text) : otherwise;
}

// Calls `run` with each seed; stops at the first one that fails, so that its story is the last thing printed.
inline void for_each_seed(std::uint64_t usual_count, const std::function<void(std::uint64_t)>& run) {
  const std::uint64_t first = number_from_environment("SIMULATION_SEED", 1);
  const std::uint64_t count = number_from_environment("SIMULATION_SEEDS", usual_count);
  for (std::uint64_t seed = first; seed < first + count && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("see it again: tests/simulate --seeds 1 --seed " + std::to_string(seed));
    run(seed);
  }
}

// Messages of an undisturbed run: faults fall anywhere among them.
[[nodiscard]] inline std::uint64_t messages_of_undisturbed(const SwarmShape& shape) {
  SimulatedSwarm swarm(shape, 1);
  swarm.run();
  return swarm.clockwork().messages();
}

// Runs to that message, or to the end if it comes sooner. False: it came sooner.
inline bool run_to_message(SimulatedSwarm& swarm, std::uint64_t message) {
  while (swarm.clockwork().messages() < message) {
    if (!swarm.run_one()) return false;
  }
  return true;
}

}  // namespace shoal
