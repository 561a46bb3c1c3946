// Which seeds a test of the simulation runs: its own few, or those that tests/simulate asks for. Whatever fails names
// its seed, because a run that cannot be seen again is worth little.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/simulation/digest.h"
#include "tests/support/simulation/verdict.h"

namespace shoal {

[[nodiscard]] inline std::uint64_t number_from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr && *text != '\0' ? std::stoull(text) : otherwise;
}

// Writes down what tests/simulate --digest reads: the runs of the test with this seed as one number.
inline void write_digest(std::uint64_t seed) {
  const std::uint64_t digest = DigestOfRuns::take();
  const char* file = std::getenv("SIMULATION_DIGEST");
  if (file == nullptr) return;
  const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
  std::ofstream(file, std::ios::app) << test.test_suite_name() << '.' << test.name() << ' ' << seed << ' ' << std::hex
                                     << digest << '\n';
}

// Calls `run` with each seed; stops at the first one that fails, so that its story is the last thing printed. Returns
// the number of seeds that ran. A test's expectations must hold for any number.
inline std::uint64_t for_each_seed(std::uint64_t usual_count, const std::function<void(std::uint64_t)>& run) {
  const std::uint64_t first = number_from_environment("SIMULATION_SEED", 1);
  const std::uint64_t count = number_from_environment("SIMULATION_SEEDS", usual_count);
  std::uint64_t seed = first;
  for (; seed < first + count && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("see it again: tests/simulate --seeds 1 --seed " + std::to_string(seed));
    run(seed);
    write_digest(seed);
  }
  const char* tally = std::getenv("SIMULATION_TALLY");  // tests/simulate adds them up
  if (tally != nullptr) std::ofstream(tally, std::ios::app) << seed - first << '\n';
  return seed - first;
}

// The test's own choices; the swarm's are drawn inside it from the same seed. `salt`: another one for each test file.
class Chance {
 public:
  Chance(std::uint64_t seed, std::uint64_t salt) : random_(seed * 0x9E3779B97F4A7C15ULL + salt) {}
  [[nodiscard]] std::uint64_t below(std::uint64_t bound) { return random_() % bound; }

 private:
  std::mt19937_64 random_;
};

[[nodiscard]] inline std::vector<std::string> nodes_of(const SimulatedSwarm& swarm) {
  auto names = swarm.processes();
  std::erase(names, "storage");
  return names;
}

inline void kill_a_node(SimulatedSwarm& swarm, Chance& chance) {
  const auto nodes = nodes_of(swarm);
  if (!nodes.empty()) swarm.kill(nodes[chance.below(nodes.size())]);
}

[[nodiscard]] inline SwarmShape shape_of(std::uint32_t stages, std::uint32_t replicas,
                                         std::uint64_t checkpoint_every = 0) {
  SwarmShape shape;
  shape.stages = stages;
  shape.replicas = replicas;
  shape.checkpoint_every = checkpoint_every;
  return shape;
}

// One or two stages of two or three replicas in twelve steps with rounds of any kind; up to so many fragments.
[[nodiscard]] inline SwarmShape shape_with_rounds(Chance& chance, std::uint64_t fragments_max) {
  const std::uint32_t checkpoint_every = chance.below(2) == 0 ? 0 : 4;
  SwarmShape shape = shape_of(1 + static_cast<std::uint32_t>(chance.below(2)),
                              2 + static_cast<std::uint32_t>(chance.below(2)), checkpoint_every);
  shape.steps = 12;
  shape.sync.mode = SyncMode::kDiloco;
  shape.sync.H = 2 + chance.below(3);
  shape.sync.fragments = 1 + static_cast<int>(chance.below(fragments_max));
  shape.sync.outer_update = static_cast<OuterUpdate>(chance.below(3));
  if (shape.sync.outer_update == OuterUpdate::kWait) shape.sync.overlap = chance.below(shape.sync.H);
  shape.sync.backend = static_cast<SyncBackend>(chance.below(2));
  return shape;
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
