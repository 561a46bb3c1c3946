// Places a run on fewer workers than stages x replicas (`swarm.share_devices`): each serves several stages.
//
// Pure. Every stage has as many replicas as it should, or as there are workers, never two of them on one worker
// (P-25b); fewer where the memory of the workers is not enough for more: what a worker gives bounds the sum of its
// stages (P-25c).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/cluster/balance/machine_places.h"

namespace shoal {

// As place_machines(), with any number of workers. Where memory allows it a worker has a run of stages, one after the
// other, so that tensors between them stay in its process. Ascending by (slot, stage). Nothing without workers, or
// where one replica of each stage does not fit.
[[nodiscard]] std::optional<std::vector<Placement>> place_shared(std::vector<Worker> workers,
                                                                 const PlacesWanted& wanted);

// Says why place_shared() found nothing for these workers, and what would help: one sentence. Empty: there are no
// workers. Asked only where nothing was found: nothing is placed again.
[[nodiscard]] std::string sharing_refusal(const std::vector<Worker>& workers, const PlacesWanted& wanted);

}  // namespace shoal
