// Passage through a relay, a link's or a lane's: each thing arrives at its own time, but never before what entered
// earlier. A Tick to the relay says that the next one is there.
#pragma once

#include <algorithm>
#include <deque>
#include <utility>

#include "messages/actor_types.h"
#include "runtime/base/clock.h"

namespace shoal {

template <class Thing>
class Passage {
 public:
  template <class Relay>
  void enter(Relay* relay, Instant arrival, Thing thing) {
    last_arrival_ = std::max(last_arrival_, arrival);
    in_flight_.push_back(std::move(thing));
    relay->delayed_send(relay, last_arrival_ - relay->clock().now(), Tick{});
  }
  // The first of them.
  [[nodiscard]] Thing leave() {
    Thing first = std::move(in_flight_.front());
    in_flight_.pop_front();
    return first;
  }

 private:
  std::deque<Thing> in_flight_;
  Instant last_arrival_{};
};

}  // namespace shoal
