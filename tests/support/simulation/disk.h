// The storage of a simulated swarm: shards and states in memory, which outlive it as files do, and the way that they
// come and go in pieces (P-26b).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "messages/actor_types.h"
#include "runtime/cluster/truth/supervisor_effects.h"
#include "runtime/storage/image/shard_intake.h"
#include "runtime/storage/shard_admission.h"
#include "tests/support/simulation/swarm.h"

namespace shoal {

struct SimulatedDisk {
  static inline const char* name = "disk";
  ShardAdmission admission;
  ShardIntake intake;
  // Pieces of shards that are not whole yet, by branch, steps and stage.
  std::map<std::tuple<Branch, std::uint64_t, StageId>, std::vector<std::byte>> pieces;
  bool is_ticking = false;
};

// Keeps shards in the record: of fakes their weights, otherwise whole. `is_real`: they come from real executors.
caf::behavior simulated_disk(caf::stateful_actor<SimulatedDisk>* self, std::shared_ptr<SwarmRecord> record,
                             RouterActor mail, bool is_real);

// The newest step that every stage has saved.
[[nodiscard]] StartPoint newest_saved(const SwarmRecord& record, std::uint32_t stages, std::uint64_t not_beyond);

}  // namespace shoal
