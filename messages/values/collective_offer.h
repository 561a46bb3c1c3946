// Names the library of collectives on its device by which a member of a stage can sum, beside its connections.
//
// An offer is made in each epoch anew; whoever chooses remembers nothing of it (runtime/sync/collective).
#pragma once

#include <cstdint>
#include <string>

#include "messages/ids.h"

namespace shoal {

struct CollectiveOffer {
  std::string library;     // must be equal for all members, as in "nccl 2.28.9"
  std::string device;      // its own, by a name that no other device in the world has
  Epoch communicator;      // the order for which the communicator was made that it holds; 0.0: it holds none
  std::uint32_t size = 0;  // members of that communicator
  friend bool operator==(const CollectiveOffer&, const CollectiveOffer&) = default;
};

}  // namespace shoal
