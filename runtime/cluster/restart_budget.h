// RestartBudget: at most n restarts within a window; past it a failure escalates one level (DESIGN.md §7).
// Pure: time comes in. Holds at most n instants.
#pragma once

#include <deque>

#include "runtime/base/clock.h"

namespace shoal {

class RestartBudget {
 public:
  RestartBudget(std::size_t count_max, Duration window) : count_max_(count_max), window_(window) {}

  // Takes one restart out of the budget; false when it is used up.
  [[nodiscard]] bool spend(Instant now) {
    while (!spent_.empty() && now - spent_.front() >= window_) spent_.pop_front();
    if (spent_.size() >= count_max_) return false;
    spent_.push_back(now);
    return true;
  }

 private:
  std::size_t count_max_;
  Duration window_;
  std::deque<Instant> spent_;
};

}  // namespace shoal
