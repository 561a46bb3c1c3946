// A clock that stands still while the process does not look: after a pause of our own (stopped, starved, a clock that
// jumps) no peer is blamed for the silence meanwhile. Pure: time comes in.
#pragma once

#include <algorithm>
#include <optional>

#include "runtime/base/clock.h"

namespace shoal {

class WatchedTime {
 public:
  // look_max: between two looks; what is longer was a pause of our own.
  explicit WatchedTime(Duration look_max) : look_max_(look_max) {}

  void look(Instant now) {
    const Duration passed = looked_at_ ? std::max(now - *looked_at_, Duration::zero()) : Duration::zero();
    const Duration counted = std::min(passed, look_max_);
    watched_ += counted;
    away_ += passed - counted;
    looked_at_ = looked_at_ ? std::max(*looked_at_, now) : now;
  }
  // Up to the last look: what counts, and what does not because we were away.
  [[nodiscard]] Duration watched() const { return watched_; }
  [[nodiscard]] Duration away() const { return away_; }

 private:
  Duration look_max_;
  std::optional<Instant> looked_at_;
  Duration watched_{};
  Duration away_{};
};

}  // namespace shoal
