// The ledger's three moves, each with the ENSURE that makes counting twice impossible (S-1).
#include "runtime/pipeline/ledger.h"

#include <algorithm>
#include <utility>

#include "runtime/base/ensure.h"

namespace shoal {

LedgerEntry* Ledger::find(MicrobatchId microbatch) {
  const auto found = entries_.find(microbatch);
  return found == entries_.end() ? nullptr : &found->second;
}

LedgerEntry& Ledger::enter(const Forward& forward, Instant now) {
  const MicrobatchId microbatch = forward.cause.microbatch;
  ENSURE(is_planned(microbatch), "a microbatch outside the plan entered the ledger");
  const auto [place, is_new] = entries_.try_emplace(microbatch);
  ENSURE(is_new, "a microbatch entered the ledger twice");
  place->second.forward = forward;
  place->second.ready_since = now;
  place->second.input_from = forward.sender;
  join(place->second, Waiter{forward.sender, forward.cause});
  return place->second;
}

void Ledger::join(LedgerEntry& entry, const Waiter& waiter) {
  const auto same = [&waiter](const Waiter& other) { return other.replica == waiter.replica; };
  const auto found = std::find_if(entry.waiters.begin(), entry.waiters.end(), same);
  if (found == entry.waiters.end()) {
    entry.waiters.push_back(waiter);
  } else {
    *found = waiter;
  }
}

bool Ledger::was_given(const LedgerEntry& entry, Incarnation replica) {
  return std::ranges::find(entry.given_to, replica) != entry.given_to.end();
}

void Ledger::give(LedgerEntry& entry, Incarnation replica) {
  if (!was_given(entry, replica)) entry.given_to.push_back(replica);
}

std::vector<Waiter> Ledger::answer(MicrobatchId microbatch, MicrobatchShare share, Backward reply) {
  LedgerEntry* entry = find(microbatch);
  ENSURE(entry != nullptr && entry->state == LedgerState::kInFlight, "only what is in flight can be answered (S-1)");
  entry->state = LedgerState::kAnswered;
  entry->forward.reset();
  entry->arrived.reset();
  entry->share = std::move(share);
  entry->reply = std::move(reply);
  ++answered_count_;
  return std::exchange(entry->waiters, {});
}

bool Ledger::withdraw(MicrobatchId microbatch) {
  const LedgerEntry* entry = find(microbatch);
  if (entry == nullptr || entry->state != LedgerState::kInFlight) return false;
  return entries_.erase(microbatch) == 1;
}

std::vector<ManifestEntry> Ledger::manifest() const {
  std::vector<ManifestEntry> entries;
  entries.reserve(answered_count_);
  for (const auto& [microbatch, entry] : entries_) {
    if (entry.state != LedgerState::kAnswered) continue;
    entries.push_back({microbatch, entry.share.token_count, entry.share.loss_sum, entry.share.bad_tensor});
  }
  return entries;
}

std::vector<MicrobatchId> Ledger::in_flight() const {
  std::vector<MicrobatchId> found;
  found.reserve(in_flight_count());
  for (const auto& [microbatch, entry] : entries_) {
    if (entry.state == LedgerState::kInFlight) found.push_back(microbatch);
  }
  return found;
}

std::vector<MicrobatchPass> Ledger::passes() const {
  std::vector<MicrobatchPass> found;
  found.reserve(answered_count_);
  for (const auto& [microbatch, entry] : entries_) {
    if (entry.state != LedgerState::kAnswered) continue;
    found.push_back({microbatch, entry.input_from, entry.gradient_from});
  }
  return found;
}

}  // namespace shoal
