// Every kind of fault of the simulation under one name, and the moments at which they fall.
//
// A fault that falls anywhere seldom falls where it hurts: a step is decided within a few letters. So a moment is
// either a message of the run, or one of the next letters of some kind (a Part, a Manifest, the journal's, ...) and a
// few messages after it. Everything is drawn from the test's Chance: equal draws give equal runs.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "tests/simulation/seeds.h"

namespace shoal {

// Counts the letters that leave a process, by their kind ("Part").
class LetterWatch {
 public:
  // For SwarmShape.
  [[nodiscard]] LetterFilter filter() const;
  [[nodiscard]] std::uint64_t seen(std::string_view kind) const;

 private:
  using Counts = std::map<std::string_view, std::uint64_t>;
  std::shared_ptr<Counts> counts_ = std::make_shared<Counts>();
};

// A swarm and what its processes send.
struct WatchedSwarm {
  WatchedSwarm(SwarmShape shape, std::uint64_t seed) : swarm(watched(std::move(shape), watch), seed) {}
  [[nodiscard]] static SwarmShape watched(SwarmShape shape, const LetterWatch& watch) {
    shape.filter = watch.filter();
    return shape;
  }

  LetterWatch watch;
  SimulatedSwarm swarm;
};

// Runs to a moment of one of the next steps. False: the run was over before it. Adds to the story when it was.
[[nodiscard]] bool run_to_moment(SimulatedSwarm& swarm, const LetterWatch& watch, Chance& chance, std::string& story);

// A fault of any kind. What it did, for people.
std::string inflict_any(SimulatedSwarm& swarm, Chance& chance);

// One to three of them, each at a moment of its own. What they did.
std::string inflict_some(SimulatedSwarm& swarm, const LetterWatch& watch, Chance& chance);

// inflict_some(), and the run to its end: whatever they did together harmed nothing. What they did.
std::string expect_harmless(WatchedSwarm& watched, Chance& chance);

// One of them: what a time-out that re-routes without need would do. One of the next Forwards goes to a second replica
// of its stage, too.
std::string double_a_forward(SimulatedSwarm& swarm, Chance& chance);

}  // namespace shoal
