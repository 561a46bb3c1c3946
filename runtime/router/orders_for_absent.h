// Failures that a person ordered for an actor of this process which is down at that moment: it suffers them when it is
// up again, so that "done" is true, or the order is given up after a while and said to be.
//
// A replica that ended does not come back under its incarnation: what was meant for it is given up. Bounded. Pure.
#pragma once

#include <algorithm>
#include <deque>
#include <vector>

#include "messages/address.h"
#include "messages/operate.h"
#include "runtime/base/bound.h"
#include "runtime/base/clock.h"

namespace shoal {

class OrdersForAbsent {
 public:
  static inline const Bound kCountMax{"links.orders_for_absent_actors", 64};
  static constexpr Duration kPatience = std::chrono::seconds(5);

  // False: as many are waiting as may.
  [[nodiscard]] bool keep(const Inject& order, Instant now) {
    if (kCountMax.is_reached_by(waiting_.size())) return false;
    waiting_.push_back({order, now + kPatience});
    return true;
  }
  // This actor is up: what was meant for it, oldest first.
  [[nodiscard]] std::vector<Inject> take(const Address& actor) {
    return take_if([&](const Waiting& one) { return is_same_actor(one.order.target, actor); });
  }
  // What nobody came for.
  [[nodiscard]] std::vector<Inject> take_expired(Instant now) {
    return take_if([now](const Waiting& one) { return one.until <= now; });
  }

 private:
  struct Waiting {
    Inject order;
    Instant until;
  };

  // In any of its lives, but for a replica: its incarnation is who it is.
  [[nodiscard]] static bool is_same_actor(const Address& one, const Address& other) {
    if (one.role != other.role) return false;
    if (one.role == Role::kStage) return one.incarnation == other.incarnation;
    return one.role != Role::kSyncGroup || one.stage == other.stage;
  }
  template <class Predicate>
  [[nodiscard]] std::vector<Inject> take_if(const Predicate& is_meant) {
    std::vector<Inject> taken;
    for (const Waiting& one : waiting_) {
      if (is_meant(one)) taken.push_back(one.order);
    }
    std::erase_if(waiting_, is_meant);
    return taken;
  }

  std::deque<Waiting> waiting_;  // in the order they came
};

}  // namespace shoal
