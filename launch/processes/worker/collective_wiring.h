// Says what a worker offers for sums on its device (sync.backend = "nccl"), and makes the thread that makes them.
//
// A worker that lacks a GPU, the private network or the library offers nothing, and says why, the first of these that
// it lacks: its stage sums over the ring then.
#pragma once

#include <functional>
#include <string>

#include "messages/ids.h"
#include "messages/values/collective_offer.h"
#include "runtime/base/config.h"
#include "runtime/base/error.h"
#include "runtime/sync/collective/collective.h"

namespace shoal {

struct CollectiveWiring {
  CollectiveOffer offer;
  MakeCollectiveRunner make;
};

// For a run with sync.backend = "nccl". device: prepared. From here on NCCL uses the interface in the private network
// alone. Errors: kUsage, with what this process lacks, as a person is told of a replica.
[[nodiscard]] Result<CollectiveWiring> wire_collective(const Config& config, const std::string& device, StageId stage,
                                                       std::function<void(const std::string&)> end_process);

}  // namespace shoal
