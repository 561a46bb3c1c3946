// Remembers which replicas were given the state they start with: they ask until they have it; one image is enough.
//
// It is given again when it is taken for lost: nothing of it has arrived for kLost, doubled with each repeat. While one
// image is read, for whomever, questions wait; those that were asked meanwhile are answered by what came of it. Bounded
// (S-6): the newest kReplicasMax. Pure: time comes in.
#pragma once

#include <cstdint>
#include <map>

#include "messages/ids.h"
#include "runtime/base/bound.h"
#include "runtime/base/time/progress_watch.h"

namespace shoal {

class GivenImages {
 public:
  static constexpr Duration kLost = std::chrono::seconds(4);  // before a replica asks for the second time
  static inline const Bound kReplicasMax{"storage.images_given", 256};

  // True when the image that this replica asks for is to be read and sent.
  [[nodiscard]] bool is_due(Incarnation replica, Instant now) const {
    const auto found = given_.find(replica);
    if (found == given_.end()) return true;
    return found->second.is_lost(now, last_given_);
  }
  // Takes note that it was sent. `now`: after the work.
  void given(Incarnation replica, Instant now) {
    last_given_ = now;
    const auto found = given_.find(replica);
    if (found != given_.end()) return found->second.given_again(now);
    if (kReplicasMax.is_reached_by(given_.size())) given_.erase(given_.begin());
    given_.emplace(replica, GivenOnce(kLost, now));
  }
  // Takes note that so many bytes of it have arrived there.
  void arriving(Incarnation replica, std::uint64_t bytes, Instant now) {
    const auto found = given_.find(replica);
    if (found != given_.end()) found->second.arriving(bytes, now);
  }

 private:
  std::map<Incarnation, GivenOnce> given_;
  Instant last_given_{};  // to anybody
};

}  // namespace shoal
