// Counts roll-backs in vain: when a run is thrown back again and again without a new step, its processes end and
// are started again by their keepers, as with any budget that is spent (DESIGN.md §7). It is not given up for good:
// machines that die more often than a checkpoint is reached may get better, and then it has to go on by itself (L-1);
// every such end has its line. If replicas end because their machines lack memory, a new start does not help at once,
// so there are pauses between: a few if no step was ever done here, more if the memory was enough once and may be
// again; then the run is given up for good. Progress is a step that no branch had committed before; a step that is
// trained again is not.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "runtime/base/bound.h"
#include "runtime/base/clock.h"

namespace shoal {

class VainRollBacks {
 public:
  static inline const Bound kInVainMax{"supervision.rollbacks_in_vain", 20};
  static inline const Bound kNeverFitMax{"supervision.rollbacks_without_memory", 3};
  static inline const Bound kFittedMax{"supervision.rollbacks_with_less_memory", 10};
  static constexpr Duration kLongestPause = std::chrono::seconds(60);
  enum class Cause { kAny, kMemory };

  // Before a roll-back from so many committed steps, on whatever branch. False: all of the last ones were in vain.
  [[nodiscard]] bool is_worth_another(std::uint64_t committed_steps, Cause cause = Cause::kAny) {
    const bool is_further = committed_steps > furthest_;
    if (is_further) furthest_ = committed_steps;
    in_vain_ = is_further ? 1 : in_vain_ + 1;
    if (is_further) for_memory_ = 0;
    last_ = cause;
    if (cause == Cause::kMemory) ++for_memory_;
    const Bound& for_memory_max = has_stepped_ ? kFittedMax : kNeverFitMax;
    return !kInVainMax.is_exceeded_by(in_vain_) && !for_memory_max.is_reached_by(for_memory_);
  }
  // A step was done, by those who are there now or before them.
  void stepped() { has_stepped_ = true; }
  // How long to wait before the start that follows.
  [[nodiscard]] Duration pause() const {
    if (last_ != Cause::kMemory) return Duration::zero();
    Duration pause = std::chrono::seconds(2);
    for (std::uint64_t times = 1; times < for_memory_ && pause < kLongestPause; ++times) pause *= 2;
    return std::min(pause, kLongestPause);
  }

 private:
  std::uint64_t in_vain_ = 0;     // since the furthest step so far
  std::uint64_t for_memory_ = 0;  // those of them for want of memory
  Cause last_ = Cause::kAny;
  bool has_stepped_ = false;
  std::uint64_t furthest_ = 0;
};

}  // namespace shoal
