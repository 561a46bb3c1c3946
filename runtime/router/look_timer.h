// When a router looks again at what may be due, and the timer that wakes it then.
//
// Apart from the core, because both its halves, links and letters, ask for an earlier look. Pure: time comes in.
#pragma once

#include "runtime/base/time/next_look.h"
#include "runtime/router/router_edge.h"

namespace shoal {

class LookTimer {
 public:
  explicit LookTimer(RouterEdge& edge) : edge_(&edge) {}

  // Says if the tick that came is the awaited one; any other is left alone.
  [[nodiscard]] bool is_awaited(Instant now) const { return next_.is_awaited(now); }
  void look_again(bool is_something_near, Instant now) { edge_->look_after(next_.after_look(is_something_near, now)); }
  // Something will be due before the next look.
  void look_soon(Instant now) {
    if (const auto pause = next_.sooner(now)) edge_->look_after(*pause);
  }

 private:
  RouterEdge* edge_;
  NextLook next_;
};

}  // namespace shoal
