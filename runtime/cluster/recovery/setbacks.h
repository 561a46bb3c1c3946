// Roll-backs that lead nowhere: when a run is thrown back again and again without a step further, its processes end and
// are started again by their keepers, as with any budget that is spent (design.md §7). It is not given up for good:
// machines that die more often than a checkpoint is reached may get better, and then it has to go on by itself (L-1);
// every such end has its line. Progress is a step that no branch had committed before; one that is only trained again
// is none.
#pragma once

#include <cstdint>

#include "runtime/base/bound.h"

namespace shoal {

class Setbacks {
 public:
  static inline const Bound kInVainMax{"supervision.rollbacks_in_vain", 20};

  // Before a roll-back from so many committed steps, on whatever branch. False: all of the last ones were in vain.
  [[nodiscard]] bool is_worth_another(std::uint64_t committed_steps) {
    in_vain_ = committed_steps > furthest_ ? 1 : in_vain_ + 1;
    if (committed_steps > furthest_) furthest_ = committed_steps;
    return !kInVainMax.is_exceeded_by(in_vain_);
  }

 private:
  std::uint64_t in_vain_ = 0;  // since the furthest step so far
  std::uint64_t furthest_ = 0;
};

}  // namespace shoal
