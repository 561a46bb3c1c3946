// The lines of `shoal ps`: what the supervisor knows of an actor and what the actor's own process tells of it, as one.
//
// A process names its router, its node agent and its tracer without their place; here the place is added, so that every
// name stands once in a run. What a node tells is bounded before it is kept.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "messages/supervision.h"
#include "runtime/base/bound.h"

namespace shoal {

// An actor as `shoal ps` lists it.
struct ActorLine {
  std::string node;
  ActorHealth health;
};

class ActorList {
 public:
  static inline const Bound kToldMax{"supervision.actors_told_of_a_process", 64};  // actors of one process
  static constexpr std::size_t kTextMax = 80;  // bytes of a text that a process tells

  // Adds what the supervisor knows. The last one of a name and node counts.
  void add(const std::string& node, ActorHealth health);
  // Adds what the process tells. Its state counts for actors that the supervisor knows nothing of, and if it is "down".
  void merge(const std::string& node, const std::vector<ActorHealth>& told, std::uint32_t lives_before);
  // The spawner's first, then by node; by name within a node.
  [[nodiscard]] std::vector<ActorLine> sorted() const;

 private:
  std::map<std::pair<std::string, std::string>, ActorHealth> lines_;  // by node and name
};

}  // namespace shoal
