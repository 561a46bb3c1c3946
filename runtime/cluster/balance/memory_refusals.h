// Says of machines that a run cannot use as they are what they lack, and what would help: in one sentence, for events
// and `shoal status` (P-25c).
//
// Pure. Sizes are in the units in which options take them.
#pragma once

#include <string>
#include <vector>

#include "runtime/cluster/balance/machine_places.h"

namespace shoal {

// Says why place_machines() found nothing for these workers: which stages have fewer workers that they fit into than
// they should have replicas, or need more of the machines beneath them, and what would fit. Empty: there are too few
// workers anyway. Asked only where nothing was found.
[[nodiscard]] std::string memory_refusal(const std::vector<Worker>& workers, const PlacesWanted& wanted);

// Says that a worker fits no stage. offer: what it gives, its host_bytes as other workers on its machine leave them.
// Empty: it fits one. config_file: as in PlacesWanted.
[[nodiscard]] std::string fits_nowhere(const std::string& name, const MachineOffer& offer,
                                       const std::vector<StageNeed>& needs, const std::string& config_file);

}  // namespace shoal
