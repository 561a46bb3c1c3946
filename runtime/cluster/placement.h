// Gives equal machines their places at the start of a run. Pure; explains itself by being short.
//
// Waits until there are workers for all replicas. A slot goes to the free worker whose node serves that stage least,
// then to the one on the least used node, then to the one that joined first: so the replicas of a stage sit on
// different nodes where that is possible, and losing a node costs a stage as little as it can. The rest are spares:
// before all others those that could not start a replica, or rest.
//
// Four decisions say who has which place:
//   at a start            place_machines() (balance/machine_places.h), by speed and memory; of equal machines place()
//   with too few workers  place_shared() (balance/shared_places.h)
//   of a free worker      plan_fitting_replacement() (recovery/fitting_replacement.h)
//   of one that serves    decide_move() (balance/rebalance.h)
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "messages/cluster.h"
#include "messages/ids.h"
#include "runtime/cluster/replicas_wanted.h"

namespace shoal {

struct Worker {
  ProcessIncarnation process;
  std::string node;
  MachineOffer offer{};  // what it gives; place() does not ask
  int choice = 0;        // workers of a higher one are taken last, however fast they are
};

struct Placement {
  StageId stage;
  ReplicaId slot;
  ProcessIncarnation process;
  friend bool operator==(const Placement&, const Placement&) = default;
};

// Ascending by (slot, stage). Nothing while there are too few workers.
[[nodiscard]] std::optional<std::vector<Placement>> place(std::vector<Worker> workers, std::uint32_t stages,
                                                          const ReplicasWanted& replicas);

}  // namespace shoal
