// Says what a worker offers for sums on its device (sync.backend = "nccl"), and makes the thread that makes them.
//
// A worker that lacks the library, a device of its own or the private network offers nothing, and its log says why: its
// stage sums over the ring then.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "messages/ids.h"
#include "messages/values/collective_offer.h"
#include "runtime/base/config.h"
#include "runtime/sync/collective/collective.h"

namespace shoal {

struct CollectiveWiring {
  CollectiveOffer offer;
  MakeCollectiveRunner make;
};

// Nothing where the run sums by its connections, or where this process can do nothing else.
// device: prepared. From here on NCCL uses the interface in the private network alone.
[[nodiscard]] std::optional<CollectiveWiring> wire_collective(const Config& config, const std::string& device,
                                                              StageId stage,
                                                              std::function<void(const std::string&)> end_process);

}  // namespace shoal
