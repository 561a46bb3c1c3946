// What a member of a stage can sum by, beside its connections to the others: a library of collectives on its device.
//
// It is said in each epoch anew; nothing of it is remembered by whoever chooses (runtime/sync/collective).
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
