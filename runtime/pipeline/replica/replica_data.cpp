// The ledger's conversation with the stages beside this one.
#include "runtime/pipeline/replica/replica_data.h"

#include <utility>

#include "runtime/base/ensure.h"
#include "runtime/pipeline/replica/pipeline_replies.h"

namespace shoal {
namespace {

TrainingWork training_work(const ReplicaStanding& self) {
  return self.phase == Phase::kOpen && self.is_member() ? TrainingWork::kAllowed : TrainingWork::kHeld;
}

WeightGradients weight_gradients_of(MicrobatchId microbatch, const ReplicaStanding& self, OtherWork other) {
  const ReplicaSetup& setup = self.setup;
  const std::size_t replicas = self.members_of_stage();
  const bool is_first = is_answered_first(microbatch, setup.microbatch_count, setup.stage, replicas, other);
  return is_first ? WeightGradients::kLater : WeightGradients::kAtOnce;
}

// The sum that this replica holds has the microbatch of another member: only that one answers, unless the sum is void.
bool is_left_to_another(const LedgerEntry* entry, const ReplicaStanding& self) {
  return entry != nullptr && entry->state == LedgerState::kInFlight && self.phase == Phase::kReduced;
}

// The data loader is nobody in the view.
bool may_send_inputs(Incarnation replica, const ReplicaStanding& self) {
  const std::uint32_t stage = self.setup.stage.value;
  return stage == 0 ? replica == Incarnation{} : self.knows(replica, stage - 1);
}

// The answer to what was computed here, on the answer of the next stage if there is one.
Backward reply_to(LedgerEntry& entry, const BackwardResult& values) {
  Backward reply;
  reply.purpose = Purpose::kTrain;
  if (entry.arrived) {
    entry.gradient_from = entry.arrived->sender;
    reply.trail = entry.arrived->trail;
    reply.loss_sum = entry.arrived->loss_sum;
  } else {
    reply.loss_sum = values.loss_sum;
  }
  reply.token_count = values.token_count;
  reply.trail.push_back(entry.timing);
  reply.input_gradient = values.input_gradient;
  return reply;
}

}  // namespace

ReplicaData::ReplicaData(const ReplicaSetup& setup)
    : ledger_(setup.microbatch_count),
      queue_(setup.schedule, setup.accumulations_max),
      evaluations_(setup.microbatch_count),
      early_(setup.microbatch_count) {}

void ReplicaData::hear(const Forward& message, ReplicaTurn& turn) {
  take(message, Arrival{turn.now(), std::exchange(transfer_ms_, 0)}, turn);
}

std::optional<RefusalReason> ReplicaData::reason_to_refuse(const Forward& message, const ReplicaStanding& self) const {
  const std::uint32_t stage = self.setup.stage.value;
  const std::vector<Incarnation>& path = message.path;
  if (!self.is_member()) return RefusalReason::kNotMember;
  if (message.cause.branch != self.setup.branch) return RefusalReason::kFenced;
  if (path.size() != self.setup.stage_count || message.cause.hop != stage || path[stage] != self.setup.self) {
    return RefusalReason::kUnknownReplica;
  }
  if (wanted_version(message) < self.state.version) return RefusalReason::kStepCommitted;
  if (stage == 0) {
    const bool is_from_loader = message.sender.value == 0 && message.cause.term >= self.term;
    if (!is_from_loader) return RefusalReason::kFenced;
  } else if (!self.knows(message.sender, stage - 1) && message.cause.position <= self.position) {
    return RefusalReason::kFenced;
  }
  if (message.purpose == Purpose::kTrain && !ledger_.is_planned(message.cause.microbatch)) return RefusalReason::kBusy;
  return std::nullopt;
}

void ReplicaData::take(const Forward& message, const Arrival& arrival, ReplicaTurn& turn) {
  const ReplicaStanding& self = turn.replica();
  const MicrobatchId microbatch = message.cause.microbatch;
  if (message.cause.run != self.setup.run) return;
  if (message.purpose == Purpose::kTrain && quarantines_.contains(message.cause.step, microbatch)) {
    ++dropped_;  // whoever sent it reads the entry too, and asks no more
    return;
  }
  const Waiter asker{message.sender, message.cause};
  const bool is_fenced_in = may_send_inputs(message.sender, self);
  if (const auto reason = reason_to_refuse(message, self)) return refuse(asker, message.purpose, *reason, turn);
  if (wanted_version(message) > self.state.version || !is_fenced_in) return hold_early(message, arrival, turn);
  if (message.purpose == Purpose::kEvaluate) {
    if (evaluations_.enter(message, arrival.transfer_ms, turn)) queue_.add({TaskKind::kEvaluate, microbatch});
    return;
  }
  LedgerEntry* entry = ledger_.find(microbatch);
  if ((entry == nullptr && self.phase != Phase::kOpen) || is_left_to_another(entry, self)) {
    return refuse(asker, message.purpose, RefusalReason::kFrozen, turn);
  }
  if (entry == nullptr) {
    LedgerEntry& entered = ledger_.enter(message, arrival.at);
    entered.timing = Hop{self.setup.self, 0, 0, static_cast<float>(arrival.transfer_ms)};
    return queue_.add({TaskKind::kForward, microbatch});
  }
  ++repeated_this_step_;
  if (entry->state == LedgerState::kInFlight) return Ledger::join(*entry, asker);
  give_reply(*entry, asker, turn);
}

// The step in progress here is not yet its step, or the journal has not yet told of its sender: it waits, bounded.
void ReplicaData::hold_early(const Forward& message, const Arrival& arrival, ReplicaTurn& turn) {
  const ReplicaStanding& self = turn.replica();
  const bool is_too_early = wanted_version(message) > self.state.version + 1;
  if (is_too_early || !early_.has_room_for(message)) {
    return refuse({message.sender, message.cause}, message.purpose, RefusalReason::kStepNotReached, turn);
  }
  if (message.cause.position > self.position) turn.send(to_supervisor(), self.journal_question());
  early_.hold(message, arrival);
}

void ReplicaData::readmit(ReplicaTurn& turn) {
  for (const auto& [key, early] : early_.take()) take(early.forward, early.arrival, turn);
}

void ReplicaData::hear(const Backward& message, ReplicaTurn& turn) {
  take(message, turn);
  transfer_ms_ = 0;
}

void ReplicaData::take(const Backward& message, ReplicaTurn& turn) {
  const ReplicaStanding& self = turn.replica();
  const bool is_ours = self.is_member() && !self.is_last_stage() && message.cause.run == self.setup.run &&
                       message.cause.branch == self.setup.branch && message.weights_version == self.state.version;
  const bool is_fenced =
      !self.knows(message.sender, self.setup.stage.value + 1) && message.cause.position <= self.position;
  LedgerEntry* entry = message.purpose == Purpose::kTrain ? ledger_.find(message.cause.microbatch) : nullptr;
  if (is_ours && !is_fenced && message.purpose == Purpose::kEvaluate) {
    if (!evaluations_.take(message, turn)) ++dropped_;
  } else if (!is_ours || is_fenced || entry == nullptr || message.cause.step.value != self.state.version) {
    ++dropped_;
  } else if (entry->state == LedgerState::kAnswered) {  // P-7: the trail only
    entry->reply->trail = message.trail;
    entry->reply->trail.push_back(entry->timing);
    ++dropped_;
  } else if (!entry->arrived && message.input_gradient.has_value()) {
    entry->arrived = message;
    entry->timing.transfer_ms += static_cast<float>(transfer_ms_);
    if (!entry->computed) return;
    entry->ready_since = turn.now();
    queue_.add({TaskKind::kBackward, message.cause.microbatch});
  } else {
    ++dropped_;
  }
}

void ReplicaData::hear(const Ask& message, ReplicaTurn& turn) {
  const ReplicaStanding& self = turn.replica();
  const Waiter asker{message.sender, message.cause};
  const bool is_train = message.purpose == Purpose::kTrain;
  const MicrobatchId microbatch = message.cause.microbatch;
  const bool is_behind = is_train && message.cause.step.value < self.state.version;
  if (message.cause.run != self.setup.run) return;
  if (!self.is_member() || is_behind || message.cause.branch != self.setup.branch) {
    const bool was_committed = is_behind && self.is_member();
    const auto reason = was_committed ? RefusalReason::kStepCommitted : RefusalReason::kNotMember;
    return refuse(asker, message.purpose, reason, turn);
  }
  // The ledger keeps nothing of a replica that it does not know (S-6); the Forward may wait for the journal to tell
  // (P-10).
  const bool is_known = may_send_inputs(asker.replica, self);
  const bool is_of_now = is_known && is_train && message.cause.step.value == self.state.version;
  LedgerEntry* entry = is_of_now ? ledger_.find(microbatch) : nullptr;
  const bool is_answered = entry != nullptr && entry->state == LedgerState::kAnswered;
  if (is_answered && !Ledger::was_given(*entry, asker.replica)) return give_reply(*entry, asker, turn);
  // The reply that it was given may be on its way still, and what is said now travels behind it: whoever has not got it
  // by then has lost it, sends the Forward again and is given it again.
  const bool is_in_flight = entry != nullptr && !is_answered && !is_left_to_another(entry, self);
  if (is_in_flight) Ledger::join(*entry, asker);
  const bool is_working = is_in_flight || early_.holds(message.purpose, microbatch, message.sender) ||
                          (!is_train && evaluations_.holds(microbatch));
  const auto state = is_working ? AskState::kWorking : AskState::kUnknown;
  turn.send(self.upstream(asker.replica),
            AskAnswer{self.answer_to(asker.cause), self.setup.self, message.purpose, state});
}

// Answered: always, others may need it. In flight: only while open, because behind a complete manifest somebody else
// holds it, and two senders make a duplicate downstream. None: whoever holds it will answer (P-17a).
void ReplicaData::hear(const Missing& message, ReplicaTurn& turn) {
  const ReplicaStanding& self = turn.replica();
  const OrderId& order = message.order;
  const bool is_current = self.is_member() && message.upstream == self.setup.self && order.run == self.setup.run &&
                          order.branch == self.setup.branch && order.step.value == self.state.version;
  Missing kept{order, self.setup.self, {}};
  for (const MicrobatchId microbatch : message.microbatches) {
    const LedgerEntry* entry = is_current ? ledger_.find(microbatch) : nullptr;
    if (entry == nullptr || (entry->state == LedgerState::kInFlight && self.phase != Phase::kOpen)) continue;
    kept.microbatches.push_back(microbatch);
  }
  if (!kept.microbatches.empty()) turn.send(self.own_router(), std::move(kept));
}

void ReplicaData::give_reply(LedgerEntry& entry, const Waiter& waiter, ReplicaTurn& turn) {
  Ledger::give(entry, waiter.replica);
  answer(waiter, *entry.reply, turn);
}

void ReplicaData::hear(const View& past, ReplicaTurn&) { quarantines_ = past.quarantines(); }

// Keeps what it has answered, which shows in its manifest: the group zeroes the stage then (P-16).
void ReplicaData::hear(const Quarantine& entry, ReplicaTurn& turn) {
  quarantines_.insert(entry.step, entry.microbatch);
  if (entry.step.value != turn.replica().state.version || !ledger_.withdraw(entry.microbatch)) return;
  queue_.drop_training_of(entry.microbatch);
  if (ledger_.answered_count() > 0 && ledger_.in_flight_count() == 0) send_progress(turn);
}

void ReplicaData::hear(const JournalEntry&, ReplicaTurn& turn) {
  if (!turn.is_running() && turn.replica().is_member()) readmit(turn);
}

void ReplicaData::hear(const StepOpened&, ReplicaTurn& turn) {
  if (ledger_.answered_count() > 0 && ledger_.in_flight_count() == 0) send_progress(turn);
}

void ReplicaData::hear(const StepZeroed& fact, ReplicaTurn& turn) {
  empty(fact.order, turn);
  send_progress(turn);  // nothing is answered from before it any more
  turn.run(ZeroJob{}, Activity::kReduce);
}

void ReplicaData::hear(const ProgressWanted&, ReplicaTurn& turn) { send_progress(turn); }

void ReplicaData::hear(const FreezeWanted& fact, ReplicaTurn& turn) {
  if (fact.has_missed_a_zero) empty(fact.order.order, turn);
  if (const auto microbatch = queue_.take_accumulation()) {  // it belongs to the manifest (P-16a)
    preparing_ = fact.order;
    return turn.run(AccumulateJob{*microbatch}, Activity::kBackward);
  }
  turn.tell(ManifestMade{fact, ledger_.manifest(), ledger_.in_flight()});
}

// Everything of the step but the weights; the executor's side is a ZeroJob. The router forgets what it kept for it: a
// zeroed replica has nothing in its ledger, so it must not answer a Missing of the stage downstream (P-17).
void ReplicaData::empty(const OrderId& zeroed_by, ReplicaTurn& turn) {
  ledger_.clear();
  queue_.drop_training();
  turn.send(turn.replica().own_router(), Zero{zeroed_by});
}

void ReplicaData::hear(const StepApplied& fact, ReplicaTurn& turn) {
  StepTrained done;
  done.microbatches = static_cast<std::uint32_t>(ledger_.answered_count());
  done.retried = static_cast<std::uint32_t>(repeated_this_step_);
  for (const ManifestEntry& entry : ledger_.manifest()) done.own_tokens += entry.token_count;
  if (turn.replica().has_rounds()) done.passes = ledger_.passes();  // otherwise all of a stage have the same weights
  done.commit = fact.commit;
  turn.tell(std::move(done));
}

void ReplicaData::hear(const StepEnded&, ReplicaTurn&) {
  ledger_.clear();
  queue_.clear();
  evaluations_.clear();
  repeated_this_step_ = 0;
}

void ReplicaData::hear(const NextStep&, ReplicaTurn& turn) { readmit(turn); }

bool ReplicaData::has_task(const ReplicaStanding& self) const { return queue_.has_task(training_work(self)); }

void ReplicaData::run_next(ReplicaTurn& turn) {
  if (const auto task = queue_.take(training_work(turn.replica()))) start(*task, turn);
}

void ReplicaData::start(const Task& task, ReplicaTurn& turn) {
  const ReplicaStanding& self = turn.replica();
  if (task.kind == TaskKind::kEvaluate) return evaluations_.start(task.microbatch, turn);
  if (task.kind == TaskKind::kAccumulate) return turn.stream(AccumulateJob{task.microbatch}, Activity::kBackward);
  LedgerEntry* entry = ledger_.find(task.microbatch);
  ENSURE(entry != nullptr, "queued work is in the ledger");
  const OtherWork other = queue_.has_pass() ? OtherWork::kWaits : OtherWork::kNone;
  const auto when = weight_gradients_of(task.microbatch, self, other);
  entry->timing.queue_ms += static_cast<float>(milliseconds(turn.now() - entry->ready_since));
  if (task.kind == TaskKind::kBackward) {
    return turn.stream(BackwardJob{task.microbatch, entry->arrived->input_gradient, when}, Activity::kBackward);
  }
  if (self.is_last_stage()) return turn.stream(LossJob{work_of(*entry->forward), when}, Activity::kBackward);
  turn.stream(ForwardJob{work_of(*entry->forward)}, Activity::kForward);
}

void ReplicaData::hear(const Forwarded& result, ReplicaTurn& turn) {
  LedgerEntry* entry = ledger_.find(result.microbatch);
  ENSURE(entry != nullptr && entry->forward, "a forward finished that is not in the ledger");
  entry->timing.compute_ms += turn.job_ms();
  entry->computed = true;
  entry->ready_since = turn.now();
  send_onward(*entry->forward, result.activation, turn);
  entry->forward.reset();
  if (entry->arrived) queue_.add({TaskKind::kBackward, result.microbatch});
}

void ReplicaData::hear(const Differentiated& result, ReplicaTurn& turn) {
  const ReplicaStanding& self = turn.replica();
  LedgerEntry* entry = ledger_.find(result.microbatch);
  ENSURE(entry != nullptr && self.phase == Phase::kOpen, "only an open replica accumulates (P-8)");
  const BackwardResult& values = result.result;
  entry->timing.compute_ms += turn.job_ms();
  MicrobatchShare share{values.token_count, self.is_last_stage() ? values.loss_sum : 0, {}};
  if (result.accumulated) share.bad_tensor = result.accumulated->bad_tensor;
  const auto waiters = ledger_.answer(result.microbatch, std::move(share), reply_to(*entry, values));
  for (const Waiter& waiter : waiters) give_reply(*entry, waiter, turn);
  if (!result.accumulated) queue_.add({TaskKind::kAccumulate, result.microbatch});
  if (!told_at_) told_at_ = turn.now();
  if (ledger_.in_flight_count() == 0 || turn.now() - *told_at_ >= kTellEvery) send_progress(turn);
}

void ReplicaData::hear(const Accumulated& result, ReplicaTurn& turn) {
  LedgerEntry* entry = ledger_.find(result.microbatch);
  ENSURE(entry != nullptr && turn.replica().phase == Phase::kOpen, "only an open replica accumulates (P-8)");
  entry->share.bad_tensor = result.result.bad_tensor;
  if (preparing_) turn.tell(PrepareAgain{*std::exchange(preparing_, std::nullopt)});
}

void ReplicaData::hear(const Evaluated& result, ReplicaTurn& turn) { evaluations_.computed(result, turn); }

void ReplicaData::send_progress(ReplicaTurn& turn) {
  told_at_ = turn.now();
  const ReplicaStanding& self = turn.replica();
  const auto count = static_cast<std::uint32_t>(ledger_.answered_count());
  turn.send(to_sync_group(self.setup.stage), Progress{self.order_id(), self.setup.self, count});
}

ReplicaFill ReplicaData::fill() const {
  return {early_.size(), early_.size_max(), 0, evaluations_.size(), evaluations_.size_max()};
}

}  // namespace shoal
