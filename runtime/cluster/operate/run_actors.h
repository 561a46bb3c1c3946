// Lists what there is of a run, by name: for orders (targets.h) and for `shoal ps` (actor_list.h).
//
// Only reads, of what the supervisor knows; what a node tells of itself is added where it says more.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "runtime/cluster/ballots.h"
#include "runtime/cluster/operate/actor_list.h"
#include "runtime/cluster/operate/targets.h"
#include "runtime/cluster/recovery/joining_replicas.h"
#include "runtime/cluster/replicas_wanted.h"
#include "runtime/cluster/roster.h"
#include "runtime/cluster/starting_replicas.h"
#include "runtime/cluster/watch/signs_of_life.h"

namespace shoal {

struct RunShape {
  std::uint32_t stages = 0;
  ReplicasWanted replicas;   // at the start
  bool is_training = false;  // sync groups and data loader are there
};

// For the length of one question.
struct RunActors {
  const Roster& roster;
  const StartingReplicas& starting;
  const JoiningReplicas& joins;
  const SignsOfLife& signs;
  const Ballots& ballots;
  RunShape shape;
};

[[nodiscard]] std::vector<Target> list_targets(const RunActors& run);

// own: what the board of the spawner's process says. Sorted: the spawner's first, then by node.
[[nodiscard]] std::vector<ActorLine> list_actors(const RunActors& run, const std::vector<ActorHealth>& own);

// Returns how a node went, or the node whose router, tracer or node agent is named, where nobody starts it again by
// itself; none: that is not so.
[[nodiscard]] std::optional<Departure> departure_of(std::string_view name, const RunActors& run);

// True for a name that nothing has now, if the run has had something of it, or has it while it trains.
[[nodiscard]] bool is_of_this_run(std::string_view name, const RunActors& run);

}  // namespace shoal
