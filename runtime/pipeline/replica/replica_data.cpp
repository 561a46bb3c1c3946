// The conversation along the pipeline, as one replica holds it: P-5, P-6, P-7, P-9, P-10, P-11 and P-25.
#include <algorithm>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/pipeline/replica/replica.h"

namespace shoal {
namespace {

// Steps applied of the weights this work is for.
std::uint64_t wanted_version(const Forward& message) {
  return message.purpose == Purpose::kTrain ? message.cause.step.value : message.weights_version;
}

MicrobatchWork work_of(const Forward& forward) {
  return {forward.cause.step, forward.cause.microbatch, forward.input, forward.targets};
}

}  // namespace

Effects ReplicaCore::receive(const Forward& message, Instant now) {
  begin_turn(now);
  take_forward(message);
  transfer_ms_ = 0;
  return end_turn();
}

bool ReplicaCore::is_known(Incarnation replica, std::uint32_t stage) const {
  const auto found = members_.find(replica);
  return found != members_.end() && found->second == stage;
}

std::size_t ReplicaCore::members_of_stage() const {
  const auto is_of_stage = [this](const auto& member) { return member.second == setup_.stage.value; };
  return static_cast<std::size_t>(std::count_if(members_.begin(), members_.end(), is_of_stage));
}

std::optional<RefusalReason> ReplicaCore::reason_to_refuse(const Forward& message) const {
  const std::uint32_t stage = setup_.stage.value;
  if (!is_member()) return RefusalReason::kNotMember;
  if (message.cause.branch != setup_.branch) return RefusalReason::kFenced;
  if (message.path.size() != setup_.stage_count || message.cause.hop != stage || message.path[stage] != setup_.self) {
    return RefusalReason::kUnknownReplica;
  }
  if (wanted_version(message) < version_) return RefusalReason::kStepCommitted;
  if (stage == 0) {
    const bool is_from_loader = message.sender.value == 0 && message.cause.term >= setup_.term;
    if (!is_from_loader) return RefusalReason::kFenced;
  } else if (!is_known(message.sender, stage - 1) && message.cause.position <= position_) {
    return RefusalReason::kFenced;
  }
  if (message.purpose == Purpose::kTrain && !ledger_.is_planned(message.cause.microbatch)) return RefusalReason::kBusy;
  return std::nullopt;
}

void ReplicaCore::take_forward(const Forward& message) {
  if (message.cause.run != setup_.run) return;
  const bool trains = message.purpose == Purpose::kTrain;
  if (trains && quarantines_.contains(message.cause.step, message.cause.microbatch)) {
    ++counters_.dropped_answers;  // whoever sent it reads the entry too, and asks no more
    return;
  }
  const Waiter asker{message.sender, message.cause};
  const bool is_fenced_in = setup_.stage.value == 0 || is_known(message.sender, setup_.stage.value - 1);
  if (const auto reason = reason_to_refuse(message)) return refuse(asker, message.purpose, *reason);
  if (wanted_version(message) > version_ || !is_fenced_in) return wait_for_version(message);
  if (message.purpose == Purpose::kEvaluate) return take_evaluation(message);

  LedgerEntry* entry = ledger_.find(message.cause.microbatch);
  if (entry == nullptr && phase_ != Phase::kOpen) return refuse(asker, message.purpose, RefusalReason::kFrozen);
  if (entry == nullptr) {
    LedgerEntry& entered = ledger_.enter(message, now_);
    entered.timing = Hop{setup_.self, 0, 0, static_cast<float>(transfer_ms_)};
    return queue_.add({TaskKind::kForward, message.cause.microbatch});
  }
  ++repeated_this_step_;
  if (entry->state == LedgerState::kInFlight) return Ledger::join(*entry, asker);
  give_reply(*entry, asker);
}

void ReplicaCore::refuse(const Waiter& asker, Purpose purpose, RefusalReason reason) {
  send(upstream(asker.replica), Refusal{cause_of(asker), setup_.self, purpose, reason});
}

// The step in progress here is not yet its step, or the journal has not yet told of its sender: it waits, bounded.
void ReplicaCore::wait_for_version(const Forward& message) {
  const WaitingKey key{message.purpose, message.cause.microbatch, message.sender};
  const bool is_too_early = wanted_version(message) > version_ + 1;
  const bool is_full = waiting_.size() >= waiting_max() && !waiting_.contains(key);
  if (is_too_early || kWaitingMax.reached_if(is_full)) {
    return refuse({message.sender, message.cause}, message.purpose, RefusalReason::kStepNotReached);
  }
  if (message.cause.position > position_) fetch_journal();
  waiting_.insert_or_assign(key, message);
}

void ReplicaCore::readmit_waiting() {
  for (const auto& [key, message] : std::exchange(waiting_, {})) take_forward(message);
}

void ReplicaCore::take_evaluation(const Forward& message) {
  const Waiter asker{message.sender, message.cause};
  const auto found = evaluations_.find(message.cause.microbatch);
  if (found != evaluations_.end()) {
    const auto is_same = [&asker](const Waiter& other) { return other.replica == asker.replica; };
    auto& waiters = found->second.waiters;
    if (std::none_of(waiters.begin(), waiters.end(), is_same)) waiters.push_back(asker);
    return;
  }
  if (kEvaluationsMax.reached_if(evaluations_.size() >= evaluations_max()))
    return refuse(asker, message.purpose, RefusalReason::kBusy);
  Evaluation evaluation{message, {asker}, Hop{setup_.self, 0, 0, static_cast<float>(transfer_ms_)}, now_};
  evaluations_.emplace(message.cause.microbatch, std::move(evaluation));
  queue_.add({TaskKind::kEvaluate, message.cause.microbatch});
}

Effects ReplicaCore::receive(const Backward& message, Instant now) {
  begin_turn(now);
  const bool is_ours = is_member() && !is_last_stage() && message.cause.run == setup_.run &&
                       message.cause.branch == setup_.branch && message.weights_version == version_;
  const bool is_fenced = !is_known(message.sender, setup_.stage.value + 1) && message.cause.position <= position_;
  LedgerEntry* entry = message.purpose == Purpose::kTrain ? ledger_.find(message.cause.microbatch) : nullptr;
  if (is_ours && !is_fenced && message.purpose == Purpose::kEvaluate) {
    take_evaluation_answer(message);
  } else if (!is_ours || is_fenced || entry == nullptr || message.cause.step.value != version_) {
    ++counters_.dropped_answers;
  } else if (entry->state == LedgerState::kAnswered) {  // P-7: the trail only
    entry->reply->trail = message.trail;
    entry->reply->trail.push_back(entry->timing);
    ++counters_.dropped_answers;
  } else if (!entry->arrived && message.input_gradient.has_value()) {
    entry->arrived = message;
    entry->timing.transfer_ms += static_cast<float>(transfer_ms_);
    if (entry->computed) {
      entry->ready_since = now_;
      queue_.add({TaskKind::kBackward, message.cause.microbatch});
    }
  } else {
    ++counters_.dropped_answers;
  }
  transfer_ms_ = 0;
  return end_turn();
}

void ReplicaCore::take_evaluation_answer(const Backward& message) {
  const auto found = evaluations_.find(message.cause.microbatch);
  if (found == evaluations_.end() || !found->second.is_passed_on) {  // of an earlier copy of the same request
    ++counters_.dropped_answers;
    return;
  }
  answer_evaluation(std::move(evaluations_.extract(found).mapped()), message);
}

void ReplicaCore::answer_evaluation(Evaluation evaluation, Backward reply) {
  reply.trail.push_back(evaluation.timing);
  reply.input_gradient = {};
  for (const Waiter& waiter : evaluation.waiters) answer(waiter, reply);
}

Effects ReplicaCore::receive(const Ask& message, Instant now) {
  begin_turn(now);
  const Waiter asker{message.sender, message.cause};
  const bool is_train = message.purpose == Purpose::kTrain;
  const MicrobatchId microbatch = message.cause.microbatch;
  const bool is_behind = is_train && message.cause.step.value < version_;
  if (message.cause.run != setup_.run) return end_turn();
  if (!is_member() || is_behind || message.cause.branch != setup_.branch) {
    refuse(asker, message.purpose,
           is_behind && is_member() ? RefusalReason::kStepCommitted : RefusalReason::kNotMember);
    return end_turn();
  }
  LedgerEntry* entry = is_train && message.cause.step.value == version_ ? ledger_.find(microbatch) : nullptr;
  const bool is_answered = entry != nullptr && entry->state == LedgerState::kAnswered;
  if (is_answered && !Ledger::was_given(*entry, asker.replica)) {
    give_reply(*entry, asker);
    return end_turn();
  }
  // The reply that it was given may be on its way still, and what is said now travels behind it: whoever has not got it
  // by then has lost it, sends the Forward again and is given it again.
  const bool is_in_flight = entry != nullptr && !is_answered;
  if (is_in_flight) Ledger::join(*entry, asker);
  const bool is_working = is_in_flight || waiting_.contains({message.purpose, microbatch, message.sender}) ||
                          (!is_train && evaluations_.contains(microbatch));
  send(upstream(asker.replica),
       AskAnswer{cause_of(asker), setup_.self, message.purpose, is_working ? AskState::kWorking : AskState::kUnknown});
  return end_turn();
}

void ReplicaCore::give_reply(LedgerEntry& entry, const Waiter& waiter) {
  Ledger::give(entry, waiter.replica);
  answer(waiter, *entry.reply);
}

void ReplicaCore::answer(const Waiter& waiter, Backward reply) {
  reply.cause = cause_of(waiter);
  reply.sender = setup_.self;
  reply.weights_version = version_;
  send(upstream(waiter.replica), std::move(reply));
}

void ReplicaCore::start(const Task& task) {
  if (task.kind == TaskKind::kEvaluate) return start_evaluation(task.microbatch);
  if (task.kind == TaskKind::kAccumulate) return run(AccumulateJob{task.microbatch}, Activity::kBackward);
  LedgerEntry* entry = ledger_.find(task.microbatch);
  CHECK(entry != nullptr, "queued work is in the ledger");
  const auto when = weight_gradients_of(task.microbatch);
  entry->timing.queue_ms += static_cast<float>(milliseconds(now_ - entry->ready_since));
  if (task.kind == TaskKind::kBackward) {
    return run(BackwardJob{task.microbatch, entry->arrived->input_gradient, when}, Activity::kBackward);
  }
  if (is_last_stage()) return run(LossJob{work_of(*entry->forward), when}, Activity::kBackward);
  run(ForwardJob{work_of(*entry->forward)}, Activity::kForward);
}

WeightGradients ReplicaCore::weight_gradients_of(MicrobatchId microbatch) const {
  const bool is_first = is_answered_first(microbatch, setup_.microbatch_count, setup_.stage, members_of_stage());
  return is_first ? WeightGradients::kLater : WeightGradients::kAtOnce;
}

void ReplicaCore::start_evaluation(MicrobatchId microbatch) {
  Evaluation& evaluation = evaluations_.at(microbatch);
  evaluation.timing.queue_ms = static_cast<float>(milliseconds(now_ - evaluation.arrived));
  run(EvaluateJob{work_of(evaluation.forward)}, Activity::kForward);
}

void ReplicaCore::forward_on(const Forward& forward, TensorBlob activation) {
  Forward onward = forward;
  onward.cause.hop = setup_.stage.value + 1;
  onward.cause.position = position_;
  onward.cause.term = setup_.term;
  onward.sender = setup_.self;
  onward.input = std::move(activation);
  const Address next{{}, Role::kStage, StageId{setup_.stage.value + 1}, onward.path[setup_.stage.value + 1]};
  send(next, std::move(onward));
}

void ReplicaCore::finish(Forwarded result) {
  LedgerEntry* entry = ledger_.find(result.microbatch);
  CHECK(entry != nullptr && entry->forward, "a forward finished that is not in the ledger");
  entry->timing.compute_ms += static_cast<float>(milliseconds(now_ - job_started_));
  entry->computed = true;
  entry->ready_since = now_;
  forward_on(*entry->forward, std::move(result.activation));
  entry->forward.reset();
  if (entry->arrived) queue_.add({TaskKind::kBackward, result.microbatch});
}

void ReplicaCore::finish(Differentiated result) {
  LedgerEntry* entry = ledger_.find(result.microbatch);
  CHECK(entry != nullptr && phase_ == Phase::kOpen, "only an open replica accumulates (P-8)");
  BackwardResult& values = result.result;
  entry->timing.compute_ms += static_cast<float>(milliseconds(now_ - job_started_));
  Backward reply;
  reply.purpose = Purpose::kTrain;
  if (entry->arrived) {
    entry->gradient_from = entry->arrived->sender;
    reply.trail = entry->arrived->trail;
    reply.loss_sum = entry->arrived->loss_sum;
  } else {
    reply.loss_sum = values.loss_sum;
  }
  reply.token_count = values.token_count;
  reply.trail.push_back(entry->timing);
  reply.input_gradient = std::move(values.input_gradient);
  MicrobatchShare share{values.token_count, is_last_stage() ? values.loss_sum : 0, {}};
  if (result.accumulated) share.bad_tensor = std::move(result.accumulated->bad_tensor);
  const auto waiters = ledger_.answer(result.microbatch, std::move(share), std::move(reply));
  for (const Waiter& waiter : waiters) give_reply(*entry, waiter);
  if (!result.accumulated) queue_.add({TaskKind::kAccumulate, result.microbatch});
  if (ledger_.in_flight_count() == 0) send_progress();
}

void ReplicaCore::finish(Accumulated result) {
  LedgerEntry* entry = ledger_.find(result.microbatch);
  CHECK(entry != nullptr && phase_ == Phase::kOpen, "only an open replica accumulates (P-8)");
  entry->share.bad_tensor = std::move(result.result.bad_tensor);
  if (preparing_) take_order(*std::exchange(preparing_, std::nullopt));
}

void ReplicaCore::finish(Evaluated result) {
  Evaluation& evaluation = evaluations_.at(result.microbatch);
  evaluation.timing.compute_ms = static_cast<float>(milliseconds(now_ - job_started_));
  if (!is_last_stage()) {
    forward_on(evaluation.forward, std::move(result.result.activation));
    evaluation.forward = {};
    evaluation.is_passed_on = true;
    return;
  }
  Backward reply;
  reply.purpose = Purpose::kEvaluate;
  reply.loss_sum = result.result.loss_sum;
  reply.token_count = result.result.token_count;
  answer_evaluation(std::move(evaluations_.extract(result.microbatch).mapped()), std::move(reply));
}

void ReplicaCore::send_progress() {
  const auto count = static_cast<std::uint32_t>(ledger_.answered_count());
  send(to_sync_group(setup_.stage), Progress{order_id(), setup_.self, count});
}

}  // namespace shoal
