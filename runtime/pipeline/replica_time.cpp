// Moving time between activities.
#include "runtime/pipeline/replica_time.h"

#include <algorithm>

namespace shoal {

void ReplicaTime::enter(Activity activity, Instant now) {
  spent_ms_[static_cast<std::size_t>(activity_)] += milliseconds(now - changed_);
  activity_ = activity;
  changed_ = now;
}

TimeBreakdown ReplicaTime::take(Instant now) {
  enter(activity_, now);
  const auto spent = [this](Activity activity) { return spent_ms_[static_cast<std::size_t>(activity)]; };
  TimeBreakdown time;
  time.forward = spent(Activity::kForward);
  time.backward = spent(Activity::kBackward);
  time.wire = std::min(spent(Activity::kIdle), transfer_ms_);
  time.wait = spent(Activity::kIdle) - time.wire;
  time.reduce = spent(Activity::kReduce);
  time.commit = spent(Activity::kCommit);
  time.apply = spent(Activity::kApply);
  spent_ms_ = {};
  transfer_ms_ = 0;
  return time;
}

}  // namespace shoal
