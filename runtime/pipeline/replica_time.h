// Tells where a replica's time went between two applies: at every instant it does exactly one thing.
//
// Invariant: the parts of a TimeBreakdown are disjoint and add up to the time since the last take(), because time is
// only ever moved from "since the last change" to the activity that was on.
#pragma once

#include <array>
#include <cstdint>

#include "messages/metrics.h"
#include "runtime/base/clock.h"

namespace shoal {

enum class Activity : std::uint8_t { kIdle, kForward, kBackward, kReduce, kCommit, kApply };

class ReplicaTime {
 public:
  explicit ReplicaTime(Instant now) : changed_(now) {}

  void enter(Activity activity, Instant now);
  // A tensor for this replica was on its way for so long; idle time is called wire up to the sum of these.
  void transfer(double transfer_ms) { transfer_ms_ += transfer_ms; }
  // The breakdown since the last take(); the activity goes on.
  [[nodiscard]] TimeBreakdown take(Instant now);

 private:
  Activity activity_ = Activity::kIdle;
  Instant changed_;
  double transfer_ms_ = 0;
  std::array<double, 6> spent_ms_{};  // by Activity
};

}  // namespace shoal
