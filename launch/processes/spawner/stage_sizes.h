// What a replica of each stage asks of its machine, as `shoal plan` prints it: the supervisor places by it, and does
// not see the model.
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
