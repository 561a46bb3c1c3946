// Collecting what a call of the core brings about.
#include "runtime/pipeline/replica/replica_turn.h"

#include <utility>

#include "runtime/base/check.h"

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

void ReplicaTurn::run(Job job, Activity activity) {
  CHECK(!is_running_, "one job at a time");
  is_running_ = true;
  job_started_ = now_;
  time_.enter(activity, now_);
  effects_.push_back(RunJob{std::move(job)});
}

void ReplicaTurn::end(std::string reason) {
  replica_.membership = Membership::kEnded;
  effects_.push_back(End{std::move(reason)});
}

void ReplicaTurn::begin(Instant now) {
  CHECK(!is_running_, "a message was handled in the middle of a job");
  now_ = now;
}

void ReplicaTurn::complete(Instant now) {
  CHECK(is_running_, "a result came without its job");
  is_running_ = false;
  now_ = now;
}

Effects ReplicaTurn::finish() {
  if (!is_running_) time_.enter(resting_activity(replica_.phase), now_);
  return std::exchange(effects_, {});
}

}  // namespace shoal
