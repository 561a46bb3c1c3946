// The bound of what waits.
#include "runtime/pipeline/replica/early_forwards.h"

#include "runtime/pipeline/replica_fill.h"

namespace shoal {

std::size_t EarlyForwards::size_max() const { return 2 * std::size_t{microbatch_count_} + kWaitingMax; }

bool EarlyForwards::has_room_for(const Forward& message) const {
  return !kWaitingMax.reached_if(waiting_.size() >= size_max() && !waiting_.contains(key_of(message)));
}

}  // namespace shoal
