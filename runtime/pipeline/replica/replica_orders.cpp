// Orders of the sync group: P-8, P-15, P-18, and the zeroing of a member that missed a Zero (P-16b).
#include <algorithm>
#include <utility>

#include "runtime/base/check.h"
#include "runtime/pipeline/replica/replica.h"

namespace shoal {

bool ReplicaCore::is_for_this_replica(const OrderId& order) const {
  const bool is_in = is_member() || membership_ == Membership::kReady;
  return is_in && order.run == setup_.run && order.branch == setup_.branch && order.stage == setup_.stage &&
         order.term >= setup_.term && order.step.value >= version_;
}

// An order of the step after this one waits for the commit, and one that comes before the own Add waits for that
// (P-25a): the journal may be slower than the group.
ReplicaCore::Verdict ReplicaCore::judge(const Order& order, OrderKind kind) {
  const OrderId& id = std::visit([](const auto& any) -> const OrderId& { return any.order; }, order);
  const bool is_early = id.step.value > version_ || !is_member();
  if (!is_for_this_replica(id) || (!is_early && id.epoch < epoch_)) {
    ++counters_.stale_orders;
    return Verdict::kIgnore;
  }
  if (is_early) {
    const auto epoch_of = [](const Order& any) { return std::visit([](const auto& m) { return m.order.epoch; }, any); };
    const bool is_newest = !waiting_order_ || epoch_of(*waiting_order_) < id.epoch;
    if (id.step.value <= version_ + 1 && is_newest) waiting_order_ = order;
    return Verdict::kIgnore;
  }
  if (id.epoch > epoch_) return Verdict::kObey;
  return epoch_kind_ == kind ? Verdict::kRepeat : Verdict::kIgnore;
}

// From here on nothing of an older epoch counts: its ring, its parts and its sum are dropped.
void ReplicaCore::adopt_epoch(const OrderId& id, OrderKind kind, Phase phase) {
  setup_.term = std::max(setup_.term, id.term);
  if (epoch_ == Epoch{}) emptied_ = id.epoch;  // a Zero follows manifests of all members: none came to a joiner yet
  epoch_ = id.epoch;
  epoch_kind_ = kind;
  phase_ = phase;
  ring_.reset();
  reduce_.reset();
  reduced_.reset();
  held_parts_.drop_below(epoch_);
}

// Everything of the step but the weights; the executor's side is a ZeroJob. The router forgets what it kept for it: a
// zeroed replica has nothing in its ledger, so it must not answer a Missing of the stage downstream (P-17).
void ReplicaCore::empty_step(const OrderId& zeroed_by) {
  ledger_.clear();
  queue_.drop_training();
  send(own_router(), Zero{zeroed_by});
  emptied_ = zeroed_by.epoch;
}

Effects ReplicaCore::receive(const Open& message, Instant now) {
  begin_turn(now);
  take_order(message);
  return end_turn();
}

Effects ReplicaCore::receive(const Zero& message, Instant now) {
  begin_turn(now);
  take_order(message);
  return end_turn();
}

Effects ReplicaCore::receive(const Prepare& message, Instant now) {
  begin_turn(now);
  if (!take_round(message)) take_order(message);
  return end_turn();
}

void ReplicaCore::take_order(const Open& message) {
  if (judge(message, OrderKind::kOpen) != Verdict::kObey) return;
  adopt_epoch(message.order, OrderKind::kOpen, Phase::kOpen);
  if (ledger_.answered_count() > 0 && ledger_.in_flight_count() == 0) send_progress();
}

void ReplicaCore::take_order(const Zero& message) {
  const Verdict verdict = judge(message, OrderKind::kZero);
  if (verdict == Verdict::kRepeat) return send_progress();
  if (verdict != Verdict::kObey) return;
  adopt_epoch(message.order, OrderKind::kZero, Phase::kOpen);
  empty_step(message.order);
  send_progress();  // nothing is answered from before it any more
  run(ZeroJob{}, Activity::kReduce);
}

void ReplicaCore::take_order(const Prepare& message) {
  const Verdict verdict = judge(message, OrderKind::kPrepare);
  if (verdict == Verdict::kRepeat) send_manifest();
  if (verdict != Verdict::kObey) return;
  const bool missed_a_zero = emptied_ < message.last_zero;  // whatever it has obeyed since
  if (missed_a_zero) empty_step(message.order);
  if (const auto microbatch = queue_.take_accumulation()) {  // it belongs to the manifest (P-16a)
    preparing_ = message;
    return run(AccumulateJob{*microbatch}, Activity::kBackward);
  }
  adopt_epoch(message.order, OrderKind::kPrepare, Phase::kFrozen);
  send_manifest();
  if (missed_a_zero) run(ZeroJob{}, Activity::kReduce);
}

void ReplicaCore::finish(Zeroed) {}

void ReplicaCore::send_manifest() {
  send(to_sync_group(setup_.stage), Manifest{order_id(), setup_.self, ledger_.manifest()});
}

Effects ReplicaCore::receive(const Reduce& message, Instant now) {
  begin_turn(now);
  if (take_round(message)) return end_turn();
  const bool is_of_this_step =
      is_member() && is_for_this_replica(message.order) && message.order.step.value == version_;
  const bool is_expected = is_of_this_step && message.order.epoch == epoch_ && epoch_kind_ == OrderKind::kPrepare;
  const auto own_count = std::count(message.members.begin(), message.members.end(), setup_.self);
  if (!is_expected || own_count != 1) {
    ++counters_.stale_orders;
  } else if (reduce_) {
    if (ring_) {
      for (AddressedMark& mark : ring_->mark()) send_to_peer(mark.receiver, std::move(mark.mark));
    }
    if (reduced_) send_reduced();
  } else {
    reduce_ = message;
    run(ContributeJob{}, Activity::kReduce);
  }
  return end_turn();
}

void ReplicaCore::finish(Contributed result) {
  CHECK(reduce_, "a contribution was taken for an order");
  if (rounds_) return adopt_own(std::move(result.values));
  ReductionSetup ring{reduce_->order, reduce_->members, setup_.self, setup_.bucket_bytes};
  ring_ = std::move(make_reduction(SyncBackend::kRing, std::move(ring), std::move(result.values)).value());
  ring_news_ = SumNews{};
  send_parts(ring_->begin());
  for (const Part& part : held_parts_.take(epoch_)) send_parts(ring_->receive(part));
  tell_how_far();
  adopt_when_complete();
}

Effects ReplicaCore::receive(const Part& message, Instant now) {
  begin_turn(now);
  if (take_round(message)) return end_turn();
  const bool is_current = is_member() && is_for_this_replica(message.order) && message.order.step.value == version_ &&
                          message.order.epoch >= epoch_;
  if (!is_current) {
    ++counters_.stale_orders;
  } else if (ring_ && message.order.epoch == epoch_) {
    send_parts(ring_->receive(message));
    tell_how_far();
    adopt_when_complete();
  } else {
    held_parts_.hold(message);
  }
  return end_turn();
}

// It is about the sum under way, or about none that counts.
Effects ReplicaCore::receive(const PartsSent& message, Instant now) {
  begin_turn(now);
  if (!take_round(message) && ring_) {
    if (auto question = ring_->missing(message)) send_questions({std::move(*question)});
  }
  return end_turn();
}

Effects ReplicaCore::receive(const MissingParts& message, Instant now) {
  begin_turn(now);
  if (!take_round(message) && ring_) {
    SentAgain again = ring_->send_again(message);
    send_parts(std::move(again.parts));
    send_questions(std::move(again.questions));
  }
  return end_turn();
}

Effects ReplicaCore::receive(const Progress& message, Instant now) {
  begin_turn(now);
  if (!take_round(message) && ring_ && ring_->order() == message.order) {
    ring_news_.piece_came();
    tell_how_far();
  }
  return end_turn();
}

// Answered: always, others may need it. In flight: only while open, because behind a complete manifest somebody else
// holds it, and two senders make a duplicate downstream. None: whoever holds it will answer (P-17a).
Effects ReplicaCore::receive(const Missing& message, Instant now) {
  begin_turn(now);
  const bool is_current = is_member() && message.upstream == setup_.self && message.order.run == setup_.run &&
                          message.order.branch == setup_.branch && message.order.step.value == version_;
  Missing kept{message.order, setup_.self, {}};
  for (const MicrobatchId microbatch : message.microbatches) {
    const LedgerEntry* entry = is_current ? ledger_.find(microbatch) : nullptr;
    if (entry == nullptr || (entry->state == LedgerState::kInFlight && phase_ != Phase::kOpen)) continue;
    kept.microbatches.push_back(microbatch);
  }
  if (!kept.microbatches.empty()) send(own_router(), std::move(kept));
  return end_turn();
}

void ReplicaCore::send_parts(std::vector<AddressedPart> parts) {
  for (AddressedPart& addressed : parts) send_to_peer(addressed.receiver, std::move(addressed.part));
}

void ReplicaCore::send_questions(std::vector<MissingParts> questions) {
  for (MissingParts& question : questions) send_to_peer(question.holder, question);
}

void ReplicaCore::tell_how_far() {
  auto news = ring_news_.of(*ring_, setup_.self, now_);
  if (!news) return;
  news->count = static_cast<std::uint32_t>(ledger_.answered_count());
  send(to_sync_group(setup_.stage), *news);
}

void ReplicaCore::adopt_when_complete() {
  if (phase_ != Phase::kFrozen || !ring_->is_complete()) return;
  run(AdoptJob{ring_->sum(), reduce_->token_count}, Activity::kReduce);
}

void ReplicaCore::finish(Adopted result) {
  phase_ = Phase::kReduced;
  reduced_ = Reduced{reduce_->order, setup_.self, result.sum.digest, std::move(result.sum.norms)};
  send_reduced();
}

void ReplicaCore::send_reduced() { send(to_sync_group(setup_.stage), *reduced_); }

}  // namespace shoal
