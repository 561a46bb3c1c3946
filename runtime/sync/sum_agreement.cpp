// Counts the answers to a group's orders, and decides when the orders are given again.
#include "runtime/sync/sum_agreement.h"

#include <algorithm>

#include "runtime/base/compose.h"
#include "runtime/base/ensure.h"
#include "runtime/sync/patience.h"
#include "runtime/sync/sync_group_verdict.h"

namespace shoal {

void SumAgreement::begin(const OrderId& order, JournalPosition position, const std::vector<ReplicaMember>& members,
                         Instant now) {
  ENSURE(order.epoch > order_.epoch, "every order takes a higher epoch (P-15)");
  phase_ = Phase::kOpen;
  order_ = order;
  position_ = position;
  manifests_.clear();
  reduced_.clear();
  unanswered_.clear();
  for (const ReplicaMember& member : members) unanswered_.insert(member.incarnation);
  time_.look(now);
  began_ = time_.watched();
  repeat_after(doubled(config_.repeat_after), now);
}

void SumAgreement::ask(Instant now) {
  phase_ = Phase::kPreparing;
  repeat_after(doubled(config_.repeat_after), now);
}

void SumAgreement::reduce(Instant now, Duration timeout) {
  phase_ = Phase::kReducing;
  unanswered_.clear();
  for (const auto& [member, manifest] : manifests_) unanswered_.insert(member);
  progress_.clear();
  time_.look(now);
  began_ = time_.watched();
  moved_at_ = now;
  reduce_timeout_ = timeout;
  repeat_after(repeat_interval_, now);
}

bool SumAgreement::hear(const Manifest& manifest) {
  if (phase_ != Phase::kPreparing || manifest.order != order_) return false;
  if (unanswered_.erase(manifest.member) == 0) return false;
  manifests_[manifest.member] = manifest;
  return true;
}

bool SumAgreement::hear(const Reduced& reduced, Instant now) {
  if (phase_ != Phase::kReducing || reduced.order != order_) return false;
  if (unanswered_.erase(reduced.member) == 0) return false;
  reduced_[reduced.member] = reduced;
  look(now);  // it may be the first that is read after a pause of our own
  moved(now);
  return true;
}

bool SumAgreement::hear(const Progress& progress, Instant now) {
  if (phase_ != Phase::kReducing || progress.order != order_ || !unanswered_.contains(progress.member)) return false;
  std::uint64_t& known = progress_[progress.member];
  if (progress.parts <= known) return false;
  known = progress.parts;
  moved(now);
  return true;
}

// The interval stays as long as repeats have made it: what once took that long may do so again.
void SumAgreement::moved(Instant now) {
  moved_at_ = now;
  repeat_after(repeat_interval_, now);
}

void SumAgreement::look(Instant now) {
  const Duration away_before = time_.away();
  time_.look(now);
  const Duration away = time_.away() - away_before;
  if (phase_ != Phase::kReducing || away == Duration::zero()) return;
  moved_at_ = std::min(moved_at_ + away, now);
  repeat_at_ = std::min(repeat_at_ + away, now + repeat_interval_);
}

void SumAgreement::obeyed(Incarnation member, const Epoch& epoch) {
  if (phase_ == Phase::kOpen && epoch >= order_.epoch) unanswered_.erase(member);
}

std::optional<SumFailure> SumAgreement::conclude(Instant now) {
  ENSURE(phase_ == Phase::kReducing && unanswered_.empty() && !reduced_.empty(), "a vote follows the whole sum (P-19)");
  const Reduced& first = reduced_.begin()->second;
  for (const auto& [member, reduced] : reduced_) {
    if (config_.keeps_sums_apart || reduced.digest == first.digest) continue;
    pause_until_ = now + doubled_per_try(config_.repeat_after, tries_ + 1);
    return SumFailure{RunEventKind::kSumsDiffer,
                      compose("the ", config_.noun, "s of replicas ", first.member, " and ", member, " differ")};
  }
  phase_ = Phase::kVoted;
  repeat_after(config_.repeat_after, now);
  return std::nullopt;
}

std::optional<SumFailure> SumAgreement::overdue(Instant now) const {
  if (phase_ != Phase::kReducing || now - moved_at_ < doubled(reduce_timeout_)) return std::nullopt;
  return SumFailure{RunEventKind::kReduceTimedOut,
                    compose("no ", config_.noun, " from ", list_members(unanswered_), " in time")};
}

bool SumAgreement::repeats(Instant now) {
  if (now < repeat_at_) return false;
  repeat_after(next_interval(repeat_interval_), now);
  return true;
}

std::vector<Incarnation> SumAgreement::receivers() const {
  if (phase_ != Phase::kReducing) return {unanswered_.begin(), unanswered_.end()};
  std::vector<Incarnation> members;
  for (const auto& [member, manifest] : manifests_) members.push_back(member);
  return members;
}

Prepared SumAgreement::vote() const {
  ENSURE(phase_ == Phase::kVoted, "a vote follows equal digests (P-19)");
  return {order_, position_, reduced_.begin()->second.digest, {}, {}, {}};
}

Duration SumAgreement::doubled(Duration base) const { return doubled_per_try(base, tries_); }

// Whoever is slow to answer a Prepare makes its repeats rare; a Reduce is repeated before it is given up all the same.
void SumAgreement::repeat_after(Duration interval, Instant now) {
  repeat_interval_ = phase_ == Phase::kReducing ? std::min(interval, doubled(reduce_timeout_) / 2) : interval;
  repeat_at_ = now + repeat_interval_;
}

std::string what_changed(const JournalEntry& entry) {
  return std::holds_alternative<Quarantine>(entry.body) ? "the step's plan changed" : "the stage's membership changed";
}

}  // namespace shoal
