// A replica's moves (protocol §2): it follows the journal, computes, answers from its ledger and obeys orders.
#include <algorithm>

#include "tests/protocol/step/moves.h"

namespace shoal::protocol {
namespace {

constexpr const char* kNotOnce = "S-1: a committed step counts a microbatch not exactly once";
constexpr const char* kOtherWeights = "S-1: a committed step holds a gradient that was computed with other weights";
constexpr const char* kOtherSum = "S-3: a replica applied another sum than the one that the journal names";
constexpr const char* kPastZero = "P-16b: a manifest names what a Zero was to empty";
constexpr const char* kTwoCommits = "S-2: two different commits of one step were acted upon";

const char* broken_by_sum(const Replica& replica, int plan) {
  if (replica.sum[0] != int{is_in(plan, 0)} || replica.sum[1] != int{is_in(plan, 1)}) return kNotOnce;
  return replica.is_sum_stale ? kOtherWeights : nullptr;
}

void accumulate(Replica& replica, int microbatch, bool is_stale) {
  replica.ledger[microbatch] = kAccumulated;
  replica.accumulated[microbatch] = byte(std::min(3, replica.accumulated[microbatch] + 1));
  replica.is_stale = byte(replica.is_stale | int{is_stale});
}

}  // namespace

void Moves::replica(int r) {
  const Replica& replica = now_.replicas[r];
  if (!replica.is_alive) return;
  replica_reads(r);
  if (replica.version == kNoVersion) return;
  const bool is_last = is_in_last_stage(r);
  if (!is_last) router(r);
  if (!is_last && replica.phase == kOpen) use_kept_answers(r);
  for (int k = 0; k < now_.message_count; ++k) receive(r, now_.message(k));
  if (replica.phase != kOpen) reduce(r);
}

// P-3: one entry after the other.
void Moves::replica_reads(int r) {
  const Replica& replica = now_.replicas[r];
  if (replica.position < now_.log_size) {
    const Entry entry = now_.log[replica.position];
    if (entry.is_commit()) {
      replica_reads_commit(r, entry);
    } else {
      State next = now_;
      ++next.replicas[r].position;
      if (entry.is_quarantine()) replica_reads_quarantine(next, r, entry.microbatch());
      if (entry.is_removal()) router_reads_removal(next, r, entry.replica());
      if (entry.is_removal() && entry.replica() == r) next.replicas[r].clear();  // P-28
      move(next, [&] { return std::string(name_of(r)) + " reads: " + told(entry); });
    }
    if (!rules_.log_order_replica) replica_reads_ahead(r);
  }
  const bool holds_unwritten = now_.has_unwritten && replica.version == now_.commits() &&
                               replica.position == now_.log_size && replica.phase == kReduced;
  if (holds_unwritten) apply(r, now_.unwritten, false);
}

// P-20a: what is in flight is withdrawn; what is accumulated stays until the group finds it in a manifest.
void Moves::replica_reads_quarantine(State& next, int r, int b) const {
  Replica& replica = next.replicas[r];
  if (!rules_.quarantine_withdraws || replica.version != now_.commits_at(now_.replicas[r].position)) return;
  replica.requests.forget(b);
  if (replica.ledger[b] != kInFlight) return;
  replica.ledger[b] = kNone;
  replica.waiters[b] = replica.kept[b] = 0;
}

// P-23. A joiner may hold a state that is newer than the entry.
void Moves::replica_reads_commit(int r, Entry entry) {
  const Replica& replica = now_.replicas[r];
  const int step = now_.commits_at(replica.position);
  if (replica.version == kNoVersion || replica.version > step) {
    State next = now_;
    ++next.replicas[r].position;
    move(next, [&] { return std::string(name_of(r)) + " skips the commit of step " + std::to_string(step); });
    return;
  }
  const bool is_named = !rules_.commit_epoch || replica.epoch == entry.epoch_of(stage_of(r));
  if (replica.version == step && replica.phase == kReduced && is_named) apply(r, entry, true);
}

// Without log_order_replica: a removal that stands behind a commit drops the sum that the commit is about.
void Moves::replica_reads_ahead(int r) {
  const Replica& replica = now_.replicas[r];
  if (replica.phase == kOpen || !now_.log[replica.position].is_commit()) return;
  for (int k = replica.position + 1; k < now_.log_size; ++k) {
    const Entry entry = now_.log[k];
    if (!entry.is_removal() || !entry.changes(stage_of(r)) || entry.replica() == r) continue;
    State next = now_;
    next.replicas[r].phase = kOpen;
    next.replicas[r].sum.fill(0);
    move(next, [&] { return std::string(name_of(r)) + " drops its sum for a removal behind the commit"; });
    return;
  }
}

void Moves::apply(int r, Entry commit, bool is_in_journal) {
  State next = now_;
  Replica& replica = next.replicas[r];
  const int step = replica.version;
  const int place = is_in_journal ? now_.replicas[r].position : now_.log_size;
  const char* broken = broken_by_sum(replica, model_.plan_at(now_, place));
  if (broken != nullptr) break_property(broken);
  if (replica.epoch != commit.epoch_of(stage_of(r))) break_property(kOtherSum);
  if (next.was_applied[step] && next.applied[step] != commit) break_property(kTwoCommits);
  next.was_applied[step] = byte(int{!rules_.journal_first});
  next.applied[step] = rules_.journal_first ? Entry{} : commit;
  const int epoch = replica.epoch;
  ++replica.version;
  if (is_in_journal) ++replica.position;
  replica.begin_step();
  move(next, [&] {
    const auto& sum = now_.replicas[r].sum;
    return std::string(name_of(r)) + " applies step " + std::to_string(step) + " of " + told_epoch(epoch) +
           ", which has the microbatches " + std::to_string(sum[0]) + " and " + std::to_string(sum[1]) + " times";
  });
}

void Moves::receive(int r, Message message) {
  if (rules_.joiner_mute && !is_member(now_.replicas[r].position, r)) return;  // P-25
  switch (message.kind()) {
    case Kind::kForward:
      if (message.to() == r) receive_forward(r, message);
      break;
    case Kind::kReply:
      if (message.to() == r) receive_reply(r, message);
      break;
    case Kind::kPrepare:
    case Kind::kOpen:
    case Kind::kZero:
      if (message.stage() == stage_of(r)) obey(r, message);
      break;
    default: break;
  }
}

// P-5, P-6, P-10. The protocol without version_check looks one step back and no further.
void Moves::receive_forward(int r, Message message) {
  const Replica& replica = now_.replicas[r];
  if (message.from() != kLoader && !is_believed(replica.position, message.from())) return;
  const bool is_late = message.step() != replica.version;
  if (is_late && (rules_.version_check || message.step() + 1 != replica.version)) return;
  if (rules_.quarantine_withdraws && is_in(now_.left_out_at(replica.position), message.microbatch())) return;
  const bool is_stale = message.is_stale() || is_late;
  const int state = replica.ledger[message.microbatch()];
  if (state == kAccumulated) return answer_again(r, message);
  if (state == kInFlight) return let_wait(r, message);
  if (rules_.freeze && replica.phase != kOpen) return;  // P-8
  return is_in_last_stage(r) ? compute(r, message, is_stale) : pass_on(r, message, is_stale);
}

void Moves::answer_again(int r, Message message) {
  State next = now_;
  const bool is_stale = message.is_stale() || message.step() != now_.replicas[r].version;
  if (!next.add(reply(r, message.from(), {message.step(), message.microbatch(), is_stale}))) return;
  move(next, [&] {
    return std::string(name_of(r)) + " answers " + told(message) + " to " + name_of(message.from()) + " again";
  });
}

// P-6: whoever asks for what is in flight is answered with the others.
void Moves::let_wait(int r, Message message) {
  if (message.from() == kLoader || !rules_.lets_wait) return;
  State next = now_;
  Byte& waiters = next.replicas[r].waiters[message.microbatch()];
  waiters = byte(waiters | 1 << message.from() % kReplicasPerStage);
  if (next == now_) return;
  move(next,
       [&] { return std::string(name_of(message.from())) + " waits at " + name_of(r) + " for " + told(message); });
}

void Moves::pass_on(int r, Message message, bool is_stale) {
  const int b = message.microbatch(), first = first_of(stage_of(r) + 1);
  const int position = now_.replicas[r].position, planned = first + message.next();
  const bool is_planned = message.next() != kAnyNext && is_member(position, planned);
  for (int to = first; to < first + kReplicasPerStage; ++to) {
    if (is_planned ? to != planned : !is_member(position, to) || !is_good_target(to, b)) continue;
    State next = now_;
    next.replicas[r].ledger[b] = kInFlight;
    next.replicas[r].requests.state[b] = kAsked;
    next.replicas[r].requests.hop[b] = byte(to);
    if (message.from() != kLoader) next.replicas[r].waiters[b] = byte(1 << message.from() % kReplicasPerStage);
    next.add(forward(r, to, {message.step(), b, is_stale, message.after_next()}));
    move(next, [&] { return std::string(name_of(r)) + " passes " + told(message) + " on to " + name_of(to); });
  }
}

// To the data loader, or to all that wait.
void Moves::answer_waiters(State& next, int r, int b, bool is_stale) const {
  const Replica& replica = now_.replicas[r];
  if (stage_of(r) == 0) next.add(reply(r, kLoader, {replica.version, b, is_stale}));
  for (int w = 0; w < kReplicasPerStage; ++w) {
    if (!is_in(replica.waiters[b], w)) continue;
    next.add(reply(r, first_of(stage_of(r) - 1) + w, {replica.version, b, is_stale}));
  }
  next.replicas[r].waiters[b] = 0;
}

void Moves::compute(int r, Message message, bool is_stale) {
  State next = now_;
  const int b = message.microbatch();
  accumulate(next.replicas[r], b, is_stale);
  next.add(reply(r, message.from(), {message.step(), b, is_stale}));
  move(next, [&] {
    return std::string(name_of(r)) + " computes and accumulates " + told(message) + " for " + name_of(message.from()) +
           (is_stale ? " with OTHER WEIGHTS" : "");
  });
}

// P-7, P-10. The router notes who answered; the replica takes the first answer to what it has in flight, now or when it
// is open.
void Moves::receive_reply(int r, Message message) {
  const Replica& replica = now_.replicas[r];
  const int b = message.microbatch(), from = message.from();
  if (!is_believed(replica.position, from) || message.step() != replica.version) return;
  State next = now_;
  Replica& after = next.replicas[r];
  note_answer(next, r, message);
  const bool is_open = replica.phase == kOpen || !rules_.freeze;
  const bool is_awaited = replica.ledger[b] == kInFlight || (replica.ledger[b] == kAccumulated && !rules_.reply_ledger);
  const bool is_used = is_awaited && is_open && replica.kept[b] == 0;
  if (is_used) {
    accumulate(after, b, message.is_stale());
    answer_waiters(next, r, b, message.is_stale());
  } else if (is_awaited && !is_open && replica.kept[b] == 0 && rules_.keep_answers) {
    after.kept[b] = byte(1 + int{message.is_stale()});
  }
  if (next == now_) return;
  move(next, [&] {
    return std::string(name_of(r)) + (is_used ? " accumulates " : " hears of ") + told(message) + " by the answer of " +
           name_of(from);
  });
}

// Accumulates after the Open what came while it was frozen.
void Moves::use_kept_answers(int r) {
  const Replica& replica = now_.replicas[r];
  for (int b = 0; b < model_.scope.microbatches; ++b) {
    if (replica.kept[b] == 0) continue;
    const bool is_stale = replica.kept[b] == 2;
    State next = now_;
    accumulate(next.replicas[r], b, is_stale);
    next.replicas[r].kept[b] = 0;
    answer_waiters(next, r, b, is_stale);
    move(next, [&] {
      return std::string(name_of(r)) + " accumulates the answer that it kept, microbatch " + std::to_string(b);
    });
  }
}

// P-15: an equal epoch is answered again and not obeyed again. Without survey_is_order another kind of order is.
void Moves::obey(int r, Message order) {
  const Replica& replica = now_.replicas[r];
  const bool is_prepare = order.kind() == Kind::kPrepare;
  if (order.step() != replica.version || (rules_.epoch_order && order.epoch() < replica.epoch)) return;
  const bool is_other_kind = is_prepare == (replica.phase == kOpen);
  const bool is_repeat = order.epoch() == replica.epoch && (rules_.survey_is_order || !is_other_kind);
  if (is_repeat && rules_.epoch_order) {
    if (is_prepare && replica.phase == kFrozen) repeat_manifest(r);
    return;
  }
  State next = now_;
  take_order(next, r, order);
  if (next == now_) return;
  const Replica& after = next.replicas[r];
  if (is_prepare && after.manifest() != 0 && after.emptied < last_zero_of(order)) break_property(kPastZero);
  move(next, [&] {
    return std::string(name_of(r)) + " obeys " +
           (is_prepare                    ? "Prepare"
            : order.kind() == Kind::kZero ? "Zero"
                                          : "Open") +
           " of " + told_epoch(order.epoch()) +
           (is_prepare ? ", its manifest has " + std::to_string(replica.manifest()) : "");
  });
}

void Moves::repeat_manifest(int r) {
  const Replica& replica = now_.replicas[r];
  State next = now_;
  if (!next.add(manifest(r, replica.version, replica.epoch, replica.manifest()))) return;
  move(next, [&] { return std::string(name_of(r)) + " repeats its manifest"; });
}

// P-16b: whatever it has obeyed since.
bool Moves::has_missed_zero(int r, Message order) const {
  if (order.kind() != Kind::kPrepare || !rules_.last_zero) return false;
  const Replica& replica = now_.replicas[r];
  return (rules_.last_emptied ? replica.emptied : replica.epoch) < last_zero_of(order);
}

// P-8, P-16: whatever the order, the sum of an older epoch is dropped; a Zero empties the rest, too. A Zero follows the
// manifests of all members: there was none for whoever obeys its first order.
void Moves::take_order(State& next, int r, Message order) const {
  Replica& replica = next.replicas[r];
  const bool is_prepare = order.kind() == Kind::kPrepare;
  const bool is_emptied = order.kind() == Kind::kZero || has_missed_zero(r, order);
  if (is_emptied || replica.epoch == 0) replica.emptied = byte(order.epoch());
  replica.epoch = byte(order.epoch());
  replica.phase = is_prepare ? kFrozen : kOpen;
  replica.sum.fill(0);
  replica.is_sum_stale = 0;
  if (is_emptied) {
    replica.accumulated.fill(0);
    replica.is_stale = 0;
  }
  if (is_emptied && rules_.zero_clears_ledger) {
    replica.ledger.fill(kNone);
    replica.kept.fill(0);
    replica.waiters.fill(0);
    if (rules_.zero_forgets) replica.requests.clear();
  }
  if (is_prepare) next.add(manifest(r, replica.version, replica.epoch, replica.manifest()));
}

}  // namespace shoal::protocol
