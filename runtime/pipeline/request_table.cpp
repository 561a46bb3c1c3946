// Each entry waits for an answer, for its retry, for a replica or for nothing; ticks and journal entries move it on.
#include "runtime/pipeline/request_table.h"

#include <algorithm>

#include "runtime/base/bound.h"
#include "runtime/base/ensure.h"
#include "runtime/pipeline/path_planner.h"

namespace shoal {
namespace {

constexpr double kAverageWeight = 0.2;  // weight of the newest measurement
constexpr double kTimeoutFactor = 4.0;  // P-13a
constexpr int kDoublingsMax = 16;
constexpr Duration kAway = std::chrono::seconds(1);  // without a tick: this process was stopped, or had no core
const Bound kFrozenMax{"pipeline.frozen_refusals",
                       3};  // refusals of one hop before another is tried: most stages open again or commit

[[nodiscard]] Letter letter_to(Incarnation replica, MessageBody body) {
  return Letter{{}, to_stage({}, replica), std::move(body)};
}

[[nodiscard]] Duration doubled(Duration base, int times, Duration ceiling) {
  for (int i = 0; i < times && base < ceiling; ++i) base *= 2;
  return std::min(base, ceiling);
}

}  // namespace

RequestTable::Key RequestTable::key_of(Incarnation requester, const Cause& cause, Purpose purpose) {
  return Key{requester, cause.branch, cause.step, purpose, cause.microbatch};
}

RequestTable::Entry* RequestTable::find(Incarnation requester, const Cause& cause, Purpose purpose) {
  const auto found = entries_.find(key_of(requester, cause, purpose));
  return found == entries_.end() ? nullptr : &found->second;
}

std::size_t RequestTable::count_of(Incarnation requester) const {
  const auto first = entries_.lower_bound(Key{requester, {}, {}, Purpose::kTrain, {}});
  const auto last = entries_.lower_bound(Key{Incarnation{requester.value + 1}, {}, {}, Purpose::kTrain, {}});
  return static_cast<std::size_t>(std::distance(first, last));
}

bool RequestTable::is_served(const Entry& entry) const { return view_.stage_of(entry.hop()) == entry.stage(); }

Duration RequestTable::timeout_of(Incarnation hop) const {
  const auto found = answer_ms_.find(hop);
  if (found == answer_ms_.end()) return limits_.floor;
  const auto measured = std::chrono::duration<double, std::milli>(kTimeoutFactor * found->second);
  return std::max(std::chrono::duration_cast<Duration>(measured), limits_.floor);
}

Duration RequestTable::backed_off(const Entry& entry) const {
  const Duration timeout = timeout_of(entry.hop());
  return doubled(timeout, entry.doublings, std::max(timeout, limits_.ceiling));
}

std::size_t RequestTable::unanswered_count() const {
  return static_cast<std::size_t>(
      std::count_if(entries_.begin(), entries_.end(), [](const auto& entry) { return !entry.second.answered_by; }));
}

bool RequestTable::has_retries() const {
  return std::ranges::any_of(entries_, [](const auto& entry) { return entry.second.waiting == Waiting::kToRetry; });
}

void RequestTable::send(Entry& entry, Instant now, std::vector<Letter>& out) {
  entry.waiting = Waiting::kForAnswer;
  entry.sent_at = now;
  entry.due = now + backed_off(entry);
  out.push_back(letter_to(entry.hop(), entry.forward));
}

void RequestTable::send_again(Entry& entry, Instant now, std::vector<Letter>& out) {
  if (!is_served(entry)) return reroute(entry, now, out);
  ++counts_.sent_again;
  ++entry.forward.cause.attempt;
  entry.measurable = false;
  send(entry, now, out);
}

// Only the failed hop changes; everything downstream answers from its caches.
void RequestTable::reroute(Entry& entry, Instant now, std::vector<Letter>& out) {
  std::vector<Incarnation> replicas;
  for (const ReplicaMember& replica : view_.replicas_of(entry.stage())) replicas.push_back(replica.incarnation);
  const auto other = replacement_hop(replicas, entry.forward.cause.microbatch, entry.hop());
  if (!other && is_served(entry)) return retry_later(entry, now);
  if (!other) {
    entry.waiting = Waiting::kForReplica;
    return;
  }
  ++counts_.rerouted;
  entry.forward.path[entry.forward.cause.hop] = *other;
  ++entry.forward.cause.attempt;
  entry.measurable = true;
  entry.unanswered_asks = entry.doublings = 0;
  if (entry.reroutes++ > 0) return retry_later(entry, now);
  entry.retries = 0;
  send(entry, now, out);
}

// P-6: a stage that stays frozen has all it needs: another of its replicas holds this one and answers from its cache.
void RequestTable::look_for_holder(Entry& entry) {
  const auto& members = view_.replicas_of(entry.stage());
  if (members.empty()) return;
  const auto is_hop = [&entry](const ReplicaMember& member) { return member.incarnation == entry.hop(); };
  const auto at = std::find_if(members.begin(), members.end(), is_hop);
  const bool is_last = at == members.end() || std::next(at) == members.end();
  entry.forward.path[entry.forward.cause.hop] = (is_last ? members.front() : *std::next(at)).incarnation;
}

void RequestTable::retry_later(Entry& entry, Instant now) {
  entry.waiting = Waiting::kToRetry;
  entry.due = now + doubled(limits_.retry, std::min(entry.retries++, kDoublingsMax), limits_.retry_ceiling);
}

void RequestTable::ask(Entry& entry, Instant now, std::vector<Letter>& out) {
  ++counts_.asked;
  ++entry.unanswered_asks;
  entry.doublings = std::min(entry.doublings + 1, kDoublingsMax);
  entry.due = now + backed_off(entry);
  out.push_back(letter_to(entry.hop(), Ask{entry.forward.cause, entry.forward.sender, entry.forward.purpose}));
}

std::vector<Letter> RequestTable::add(Incarnation requester, Forward forward, Instant now) {
  ENSURE(forward.cause.hop < forward.path.size(), "a Forward's hop lies on its path");
  std::vector<Letter> out;
  const bool trains = forward.purpose == Purpose::kTrain;
  if (trains && view_.quarantines().contains(forward.cause.step, forward.cause.microbatch)) return out;
  const Key key = key_of(requester, forward.cause, forward.purpose);
  if (const auto known = entries_.find(key); known != entries_.end()) {
    known->second.answered_by.reset();
    send_again(known->second, now, out);
    return out;
  }
  const bool may_be_full = entries_.size() >= limits_.entries_per_requester_max;  // counting takes a while
  if (may_be_full && kRequestsMax.reached_if(count_of(requester) >= limits_.entries_per_requester_max)) {
    ++counts_.refused;
    return out;
  }
  const bool is_ahead = forward.cause.position > view_.position();
  Entry& entry = entries_[key];
  entry.forward = std::move(forward);
  if (is_served(entry)) {
    send(entry, now, out);
  } else if (is_ahead) {
    retry_later(entry, now);  // the journal will say who this is
  } else {
    reroute(entry, now, out);
  }
  return out;
}

void RequestTable::answered(Incarnation requester, const Backward& backward, Instant now) {
  Entry* entry = find(requester, backward.cause, backward.purpose);
  if (entry == nullptr || view_.stage_of(backward.sender) != entry->stage()) return;  // P-10: its requester drops it
  measure(*entry, backward, now);
  if (backward.purpose == Purpose::kEvaluate) {
    entries_.erase(key_of(requester, backward.cause, backward.purpose));
    return;
  }
  entry->answered_by = backward.sender;
  heard_[backward.sender] = now;
  entry->waiting = Waiting::kForNothing;
  entry->doublings = entry->unanswered_asks = entry->retries = entry->reroutes = entry->frozen = 0;
}

// An answer that came while an Ask was open may have been lost and fetched by it: then its age says when we asked, not
// how fast the hop is; what its trail tells of queues and work does.
// An answer that had to be asked for, or that lay here while this process was stopped, came when it could: then the
// trail alone says how long the hop takes.
void RequestTable::measure(const Entry& entry, const Backward& backward, Instant now) {
  if (entry.answered_by || !entry.measurable || backward.sender != entry.hop()) return;
  double took_ms = milliseconds(now - entry.sent_at);
  const bool was_away = looked_at_ && now - *looked_at_ > kAway;
  if (entry.unanswered_asks > 0 || was_away) {
    if (backward.trail.empty()) return;
    double worked_ms = 0;
    for (const Hop& hop : backward.trail) worked_ms += hop.queue_ms + hop.compute_ms + hop.transfer_ms;
    took_ms = std::min(took_ms, worked_ms);
  }
  const auto [average, is_first] = answer_ms_.try_emplace(backward.sender, took_ms);
  if (!is_first) average->second += kAverageWeight * (took_ms - average->second);
}

std::vector<Letter> RequestTable::refused(Incarnation requester, const Refusal& refusal, Instant now) {
  std::vector<Letter> out;
  Entry* entry = find(requester, refusal.cause, refusal.purpose);
  if (entry == nullptr || entry->answered_by || refusal.sender != entry->hop()) return out;
  heard_[refusal.sender] = now;
  const bool is_of_last = refusal.cause.attempt == entry->forward.cause.attempt;  // its repeat may have been taken
  if (!is_of_last) return out;
  entry->unanswered_asks = 0;
  switch (refusal.reason) {
    case RefusalReason::kStepCommitted: entry->waiting = Waiting::kForNothing; break;  // its Commit will drop it
    case RefusalReason::kFrozen:
      if (kFrozenMax.is_exceeded_by(static_cast<std::uint64_t>(++entry->frozen))) look_for_holder(*entry);
      [[fallthrough]];
    case RefusalReason::kStepNotReached:
    case RefusalReason::kBusy:
      entry->measurable = false;
      retry_later(*entry, now);
      break;
    case RefusalReason::kFenced:
    case RefusalReason::kNotMember:
    case RefusalReason::kUnknownReplica: reroute(*entry, now, out); break;
  }
  return out;
}

std::vector<Letter> RequestTable::ask_answered(Incarnation requester, const AskAnswer& answer, Instant now) {
  std::vector<Letter> out;
  Entry* entry = find(requester, answer.cause, answer.purpose);
  if (entry == nullptr || entry->answered_by || answer.sender != entry->hop()) return out;
  heard_[answer.sender] = now;
  if (entry->waiting != Waiting::kForAnswer) return out;
  entry->unanswered_asks = 0;
  const bool is_of_last = answer.cause.attempt == entry->forward.cause.attempt;  // and not of one before a repeat
  if (answer.state == AskState::kUnknown && is_of_last) {
    send_again(*entry, now, out);
  } else {
    entry->due = now + backed_off(*entry);
  }
  return out;
}

// A repeat of the question sends again only what was not sent for it: the rest was answered since, or is asked for when
// it is due. The data loader counts all that it is told of as unanswered, and its inputs are small: all of it goes.
std::vector<Letter> RequestTable::missing(const Missing& missing, Instant now) {
  std::vector<Letter> out;
  for (const MicrobatchId microbatch : missing.microbatches) {
    const Key key{missing.upstream, missing.order.branch, missing.order.step, Purpose::kTrain, microbatch};
    const auto found = entries_.find(key);
    if (found == entries_.end() || found->second.stage() != missing.order.stage) continue;
    Entry& entry = found->second;
    const auto before = std::exchange(entry.missing_in, missing.order.epoch);
    const bool is_under_way = entry.answered_by || entry.waiting == Waiting::kForAnswer;
    if (before == missing.order.epoch && is_under_way && missing.upstream != Incarnation{}) continue;
    entry.answered_by.reset();
    send_again(entry, now, out);
  }
  return out;
}

void RequestTable::begin_at(const View& past) {
  view_ = past;
  entries_.clear();
  answer_ms_.clear();
}

std::vector<Letter> RequestTable::follow(const JournalEntry& entry, Instant now) {
  view_.apply(entry);
  std::vector<Letter> out;
  std::erase_if(entries_, [&entry](const auto& kept) { return kept.first.branch < entry.branch; });
  if (const auto* add = std::get_if<AddReplica>(&entry.body)) {
    replica_added(add->stage, now, out);
  } else if (const auto* remove = std::get_if<RemoveReplica>(&entry.body)) {
    replica_removed(remove->replica, now, out);
  } else if (const auto* commit = std::get_if<Commit>(&entry.body)) {
    committed(entry.branch, commit->step);
  } else if (const auto* quarantine = std::get_if<Quarantine>(&entry.body)) {
    withdraw(quarantine->step, quarantine->microbatch);
  }
  return out;
}

void RequestTable::replica_added(StageId stage, Instant now, std::vector<Letter>& out) {
  for (auto& [key, entry] : entries_) {
    if (entry.waiting == Waiting::kForReplica && entry.stage() == stage) reroute(entry, now, out);
  }
}

// Answered or not: what the removed one had accumulated is lost with it (P-12), and its answer with that if whoever
// was to have it knew of the removal by then (P-10).
void RequestTable::replica_removed(Incarnation replica, Instant now, std::vector<Letter>& out) {
  answer_ms_.erase(replica);
  heard_.erase(replica);
  forget(replica);
  for (auto& [key, entry] : entries_) {
    if (entry.hop() != replica && entry.answered_by != replica) continue;
    entry.answered_by.reset();
    entry.reroutes = 0;
    send_again(entry, now, out);
  }
}

void RequestTable::forget(Incarnation requester) {
  std::erase_if(entries_, [requester](const auto& entry) { return entry.first.requester == requester; });
}

void RequestTable::committed(Branch branch, StepId step) {
  std::erase_if(entries_,
                [branch, step](const auto& entry) { return entry.first.branch == branch && entry.first.step <= step; });
}

// The microbatch is planned no more: nobody is asked for it again.
void RequestTable::withdraw(StepId step, MicrobatchId microbatch) {
  std::erase_if(entries_, [step, microbatch](const auto& entry) {
    const Key& key = entry.first;
    return key.purpose == Purpose::kTrain && key.step == step && key.microbatch == microbatch;
  });
}

// On a slow way an entry may be behind all others of its hop: as long as some of those are answered, it is not lost.
bool RequestTable::is_given_up(const Entry& entry, bool is_linked, Instant now) const {
  if (!kUnansweredAsksMax.reached_if(static_cast<std::uint64_t>(entry.unanswered_asks) >= limits_.unanswered_asks_max))
    return false;
  const auto heard = heard_.find(entry.hop());
  const Instant silent_since = std::max(entry.sent_at, heard == heard_.end() ? Instant{} : heard->second);
  return !is_linked || now - silent_since >= std::max(limits_.patience, 4 * timeout_of(entry.hop()));
}

std::vector<Letter> RequestTable::tick(Instant now, const std::function<bool(Incarnation)>& is_linked) {
  std::vector<Letter> out;
  looked_at_ = now;
  for (auto& [key, entry] : entries_) {
    if (now < entry.due) continue;
    if (entry.waiting == Waiting::kToRetry) {
      send_again(entry, now, out);
    } else if (entry.waiting == Waiting::kForAnswer) {
      if (!is_given_up(entry, is_linked && is_linked(entry.hop()), now)) {
        ask(entry, now, out);
      } else {
        entry.unanswered_asks = 0;
        reroute(entry, now, out);
      }
    }
  }
  return out;
}

}  // namespace shoal
