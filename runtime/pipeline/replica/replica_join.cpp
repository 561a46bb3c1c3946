// The state a replica starts with: its own, a checkpoint's, or a copy of a peer's (P-25 .. P-27); and what a member
// gives to others of its state.
#include <utility>

#include "runtime/base/check.h"
#include "runtime/base/compose.h"
#include "runtime/pipeline/replica/replica.h"

namespace shoal {

Effects ReplicaCore::begin(Instant now) {
  begin_turn(now);
  if (setup_.donor != Incarnation{}) {
    copy_.emplace(StateCopySetup{setup_.self, setup_.stage, setup_.branch, setup_.donor, setup_.donor_seen_at,
                                 setup_.tensor_names, setup_.rounds});
  } else if (setup_.image) {
    run(LoadJob{std::exchange(setup_.image, std::nullopt)}, Activity::kApply);
  } else if (setup_.from_checkpoint) {
    fetch_state();
  } else {
    run(LoadJob{}, Activity::kApply);
  }
  return end_turn();
}

void ReplicaCore::fetch_state() {
  last_sent_ = now_;
  const FetchState wanted{setup_.self, setup_.version, setup_.tensor_names, Incarnation{}, setup_.branch};
  send(Address{{}, Role::kStorage, {}, {}}, wanted);
}

Effects ReplicaCore::receive(const StateImage& message, Instant now) {
  begin_turn(now);
  const bool is_stored = membership_ == Membership::kLoading && setup_.from_checkpoint && !copy_ &&
                         message.donor == Incarnation{} && message.replica == setup_.self &&
                         message.step == setup_.version;
  const bool is_copied = membership_ != Membership::kEnded && copy_ && copy_->accepts(message, now);
  if (is_copied) {
    version_ = message.step;
    setup_.optimizer_step = message.optimizer_step;
  }
  if (is_stored || is_copied) setup_.tokens_total = message.tokens_total;
  if (is_stored || is_copied) run(LoadJob{message.image}, Activity::kApply);
  return end_turn();
}

Effects ReplicaCore::receive(const StateUnavailable& message, Instant now) {
  begin_turn(now);
  if (copy_) {
    copy_->refused(message);
    pursue_copy();
    return end_turn();
  }
  if (rounds_ && message.replica != setup_.self) rounds_->lost_on_its_way(message);
  const bool is_awaited =
      membership_ == Membership::kLoading && message.replica == setup_.self && message.donor == Incarnation{};
  if (is_awaited) end(compose("storage cannot give the state after step ", message.step, ": ", message.reason));
  return end_turn();
}

Effects ReplicaCore::receive(const StateProgress& message, Instant now) {
  begin_turn(now);
  const bool is_own = message.replica == setup_.self;
  if (!is_own) feeds_.arriving(message.replica, message.bytes, now);
  const bool is_stored = membership_ == Membership::kLoading && setup_.from_checkpoint && !copy_ &&
                         message.donor == Incarnation{} && message.step == setup_.version;
  const bool is_awaited = is_own && (copy_ ? copy_->arriving(message, now) : is_stored);
  if (is_awaited) pass_on(message);
  return end_turn();
}

// To whoever gave it, that it gives no second one, and to the supervisor, that it waits.
void ReplicaCore::pass_on(StateProgress progress) {
  last_sent_ = now_;
  progress.branch = setup_.branch;
  progress.stage = setup_.stage;
  const bool is_stored = progress.donor == Incarnation{};
  send(is_stored ? Address{{}, Role::kStorage, {}, {}} : Address{{}, Role::kStage, setup_.stage, progress.donor},
       progress);
  send(to_supervisor(), progress);
}

Effects ReplicaCore::receive(const StepSum& message, Instant now) {
  begin_turn(now);
  if (copy_) copy_->hold(message, now);
  if (rounds_ && is_member()) rounds_->hear(message);
  pursue_copy();
  return end_turn();
}

void ReplicaCore::finish(Loaded result) {
  membership_ = Membership::kReady;
  state_digest_ = result.state_digest;
  if (rounds_) rounds_->start_at(version_);
  if (!copy_) return send_ready();
  if (rounds_) return run(RestartFromOuterJob{}, Activity::kApply);
  copy_->loaded(version_, now_);
  pursue_copy();
}

void ReplicaCore::finish(LoadRefused result) { end("the state to start with was refused: " + result.reason); }

void ReplicaCore::send_ready() {
  last_sent_ = now_;
  ready_version_ = version_;
  send(to_supervisor(), StageReady{setup_.stage, setup_.self, setup_.process, version_, state_digest_});
}

// One thing after the other: asks, repeats a committed step, says that it is where the journal is.
void ReplicaCore::pursue_copy() {
  if (!copy_ || is_running_ || membership_ == Membership::kEnded) return;
  const bool was_behind = copy_->fell_behind();
  if (auto ask = copy_->due(now_)) send(Address{{}, Role::kStage, setup_.stage, copy_->donor()}, std::move(*ask));
  if (copy_->fell_behind() && !was_behind) send_ready();
  if (auto step = copy_->next()) {
    std::optional<UpdateOrder> update;
    if (!step->is_skipped) update = UpdateOrder{step->learning_rate, step->clip_scale, step->optimizer_step};
    if (update && !step->sum.has_value()) return end(compose("the sum of step ", step->step, " came without values"));
    return run(FollowJob{std::move(step->sum), step->token_count, update}, Activity::kApply);
  }
  if (copy_->is_current() && ready_version_ != version_) send_ready();
}

void ReplicaCore::finish(Followed result) {
  const auto step = copy_->next();
  CHECK(step, "a step is followed once");
  if (!step->is_skipped && result.sum_digest != step->digest) {
    return end(compose("the donor's sum of step ", step->step, " is not the one that was committed (S-3)"));
  }
  ++version_;
  state_digest_ = result.state_digest;
  setup_.optimizer_step = step->optimizer_step;
  setup_.tokens_total += step->token_count;
  copy_->followed(now_);
  pursue_copy();
}

Effects ReplicaCore::receive(const FetchState& message, Instant now) {
  begin_turn(now);
  if (!is_member() || message.branch != setup_.branch || message.donor != setup_.self) {
    refuse_state(message.replica, "it is no member of the view that was asked for");
    return end_turn();
  }
  if (take_question(message)) return end_turn();
  if (!is_at_boundary()) {
    give_state(message);
  } else if (asked_at_boundary_.contains(message.replica) ||
             !StateFeeds::kFeedsMax.is_reached_by(asked_at_boundary_.size())) {
    // It is answered after the boundary: where rounds follow fast, who asks again would come to one each time.
    asked_at_boundary_.insert_or_assign(message.replica, message);
  }
  return end_turn();
}

void ReplicaCore::give_state(const FetchState& wanted) {
  switch (feeds_.hear(wanted, version_, now_)) {
    case StateFeeds::Answer::kNothing: break;
    case StateFeeds::Answer::kRefuse: refuse_state(wanted.replica, "it does not feed this joiner"); break;
    case StateFeeds::Answer::kImage:
      image_for_ = wanted.replica;
      run(ImageJob{}, Activity::kApply);
      break;
  }
}

void ReplicaCore::give_image(Incarnation joiner, TensorBlob image) {
  StateImage given{joiner, version_, std::move(image), setup_.self, setup_.optimizer_step, setup_.tokens_total};
  send(Address{{}, Role::kStage, setup_.stage, joiner}, std::move(given));
  send_ready();
}

void ReplicaCore::refuse_state(Incarnation joiner, const std::string& reason) {
  send(Address{{}, Role::kStage, setup_.stage, joiner}, StateUnavailable{joiner, version_, reason, setup_.self});
}

// Before its own apply: the step is committed, and the joiner can apply it at the same time.
void ReplicaCore::feed_joiners(const Commit& entry) {
  if (feeds_.is_empty() || rounds_) return;  // between rounds there is no common sum
  StepSum sum{{}, setup_.self, setup_.branch, entry.step, entry.token_count, {}};
  if (!entry.skip) sum.values = ring_->sum();
  const auto portions = feeds_.feed(version_ + 1, sum.values.byte_count());
  for (const Incarnation joiner : portions.fed) {
    sum.replica = joiner;
    send(Address{{}, Role::kStage, setup_.stage, joiner}, sum);
  }
  for (const Incarnation joiner : portions.cut) refuse_state(joiner, "more sums would only pile up before it");
}

// After the apply of a commit that named somebody else, who was lost before its shard was stored. At a boundary there
// is no answer: the supervisor asks again.
Effects ReplicaCore::receive(const SaveState& message, Instant now) {
  begin_turn(now);
  const bool holds_it =
      is_member() && message.branch == setup_.branch && message.replica == setup_.self && message.step == version_;
  if (holds_it && !is_at_boundary()) run(ImageJob{}, Activity::kApply);
  return end_turn();
}

}  // namespace shoal
