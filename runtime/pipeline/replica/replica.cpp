// Turns of the core: every call collects its effects, and time goes to what the replica does when the call returns.
#include "runtime/pipeline/replica/replica.h"

#include <algorithm>
#include <utility>

#include "runtime/base/check.h"

namespace shoal {

ReplicaCore::ReplicaCore(ReplicaSetup setup, Instant now)
    : setup_(std::move(setup)),
      version_(setup_.version),
      ledger_(setup_.microbatch_count),
      queue_(setup_.schedule, setup_.accumulations_max),
      last_sent_(now),
      time_(now),
      now_(now) {
  CHECK(setup_.stage.value < setup_.stage_count, "a replica serves a stage of the pipeline");
  CHECK(setup_.self.value != 0, "incarnation 0 is nobody");
  if (!setup_.rounds) return;
  rounds_.emplace(
      RoundMemberSetup{setup_.run, setup_.branch, setup_.stage, setup_.self, *setup_.rounds, setup_.bucket_bytes});
  rounds_->start_at(version_);
}

void ReplicaCore::begin_turn(Instant now) {
  CHECK(!is_running_, "a message was handled in the middle of a job");
  now_ = now;
}

Effects ReplicaCore::end_turn() {
  pursue_rounds();
  if (!is_running_) time_.enter(resting_activity(), now_);
  return std::exchange(effects_, {});
}

Activity ReplicaCore::resting_activity() const {
  switch (phase_) {
    case Phase::kOpen: return Activity::kIdle;
    case Phase::kFrozen: return Activity::kReduce;
    case Phase::kReduced: return Activity::kCommit;
  }
  return Activity::kIdle;
}

void ReplicaCore::send(const Address& to, MessageBody body) {
  effects_.push_back(SendLetter{Letter{setup_.process, to, std::move(body)}});
}

void ReplicaCore::send_to_peer(Incarnation peer, MessageBody body) {
  send(Address{{}, Role::kStage, setup_.stage, peer}, std::move(body));
}

void ReplicaCore::run(Job job, Activity activity) {
  CHECK(!is_running_, "one job at a time");
  is_running_ = true;
  job_started_ = now_;
  time_.enter(activity, now_);
  effects_.push_back(RunJob{std::move(job)});
}

void ReplicaCore::end(std::string reason) {
  membership_ = Membership::kEnded;
  effects_.push_back(End{std::move(reason)});
}

Cause ReplicaCore::cause_of(const Waiter& waiter) const {
  Cause cause = waiter.cause;
  cause.term = setup_.term;
  cause.position = position_;
  cause.hop = setup_.stage.value;
  return cause;
}

OrderId ReplicaCore::order_id() const {
  return OrderId{setup_.run, setup_.branch, setup_.term, setup_.stage, StepId{version_}, epoch_, {}};
}

Address ReplicaCore::upstream(Incarnation replica) const {
  if (setup_.stage.value == 0) return to_data_loader();
  return Address{{}, Role::kStage, StageId{setup_.stage.value - 1}, replica};
}

TrainingWork ReplicaCore::training_work() const {
  return phase_ == Phase::kOpen && is_member() ? TrainingWork::kAllowed : TrainingWork::kHeld;
}

std::size_t ReplicaCore::evaluations_max() const {
  return std::max<std::size_t>(kEvaluationsMax, 2 * std::size_t{setup_.microbatch_count});
}

std::size_t ReplicaCore::waiting_max() const { return 2 * std::size_t{setup_.microbatch_count} + kWaitingMax; }

ReplicaFill ReplicaCore::fill() const {
  const std::size_t parts = std::max(held_parts_.size(), rounds_ ? rounds_->early_parts() : 0);
  return {waiting_.size(), waiting_max(), parts, evaluations_.size(), evaluations_max()};
}

bool ReplicaCore::has_job() const { return queue_.has_task(training_work()); }

Effects ReplicaCore::run_next(Instant now) {
  begin_turn(now);
  if (const auto task = queue_.take(training_work())) start(*task);
  return end_turn();
}

Effects ReplicaCore::completed(JobResult result, Instant now) {
  CHECK(is_running_, "a result came without its job");
  is_running_ = false;
  now_ = now;
  std::visit([this](auto& outcome) { finish(std::move(outcome)); }, result);
  return end_turn();
}

void ReplicaCore::transfer_timed(double transfer_ms) {
  transfer_ms_ += transfer_ms;
  time_.transfer(transfer_ms);
}

Effects ReplicaCore::tick(Instant now) {
  begin_turn(now);
  const bool fetches = membership_ == Membership::kLoading && setup_.from_checkpoint && !copy_;
  if (fetches && now - last_sent_ >= kStateRetry) fetch_state();
  const bool is_current = !copy_ || copy_->is_current();
  const bool is_waiting = membership_ == Membership::kReady && is_current;
  if ((is_waiting || is_compared_with()) && now - last_sent_ >= kReadyRetry) send_ready();
  pursue_copy();
  return end_turn();
}

}  // namespace shoal
