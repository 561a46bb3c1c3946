// Collecting what a call of the core brings about.
#include "runtime/pipeline/replica/replica_turn.h"

#include <utility>

namespace shoal {
namespace {

// Returns what a replica does that computes nothing.
Activity resting_activity(Phase phase) {
  switch (phase) {
    case Phase::kOpen: return Activity::kIdle;
    case Phase::kFrozen: return Activity::kReduce;
    case Phase::kReduced: return Activity::kCommit;
  }
  return Activity::kIdle;
}

}  // namespace

void ReplicaTurn::send(const Address& to, MessageBody body) {
  effects_.push_back(SendLetter{Letter{replica_.setup.process, to, std::move(body)}});
}

void ReplicaTurn::send_to_peer(Incarnation peer, MessageBody body) {
  send(Address{{}, Role::kStage, replica_.setup.stage, peer}, std::move(body));
}

void ReplicaTurn::begin(Job job, JobKind kind, Activity activity) {
  jobs_.begin(kind, activity, now_);
  time_.enter(jobs_.activity(), now_);
  effects_.push_back(RunJob{std::move(job)});
}

void ReplicaTurn::end(std::string reason) {
  replica_.membership = Membership::kEnded;
  effects_.push_back(End{std::move(reason)});
}

void ReplicaTurn::complete(Instant now) {
  job_took_ = jobs_.end(now);
  now_ = now;
}

Effects ReplicaTurn::finish() {
  if (is_running()) {
    time_.enter(jobs_.activity(), now_);
  } else {
    time_.enter(resting_activity(replica_.phase), now_);
  }
  return std::exchange(effects_, {});
}

}  // namespace shoal
