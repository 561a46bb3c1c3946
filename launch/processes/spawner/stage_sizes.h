// Sizes of each stage: what a replica of it asks of its machine, as `shoal plan` prints it. The supervisor places by
// them, and does not see the model.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/base/config.h"
#include "runtime/cluster/balance/machine_places.h"

namespace shoal {

// By stage; empty for a model that cannot be cut so.
struct StageSizes {
  std::vector<std::uint64_t> state_bytes;  // of an image of its state
  std::vector<StageNeed> needs;
};
[[nodiscard]] StageSizes stage_sizes(const Config& config);

}  // namespace shoal
