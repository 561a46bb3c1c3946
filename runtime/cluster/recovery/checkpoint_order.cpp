// One due time; whatever goes wrong brings it forward.
#include "runtime/cluster/recovery/checkpoint_order.h"

namespace shoal {

namespace {

constexpr Duration kAgainLongest = std::chrono::minutes(5);

}  // namespace

CheckpointOrder::CheckpointOrder(std::uint64_t version, std::vector<Incarnation> savers, Rank rank, Instant now)
    : version_(version),
      savers_(std::move(savers)),
      rank_(rank),
      began_(now),
      due_(now + kSilence),
      reason_("storage said nothing for long") {}

void CheckpointOrder::expect_by(Instant due, const std::string& otherwise) {
  if (due > due_) return;
  due_ = due;
  reason_ = otherwise;
}

void CheckpointOrder::replica_lost(Incarnation replica, Instant now) {
  if (std::find(savers_.begin(), savers_.end(), replica) == savers_.end()) return;
  expect_by(now + kSettle, "who was to save it was lost");
}

void CheckpointOrder::storage_lost(Instant now) { expect_by(now, "storage was lost"); }

void CheckpointOrder::doubt(const std::string& reason, Instant now) { expect_by(now + kSettle, reason); }

CheckpointOrder::Decision CheckpointOrder::decide(bool has_storage, const CheckpointPatience& patience, Instant now) {
  if (!has_storage && !without_storage_since_) without_storage_since_ = now;
  if (!has_storage) expect_by(now, "there was no storage");
  if (has_storage) without_storage_since_.reset();
  const bool is_last = rank_ == Rank::kLast;
  const bool is_hopeless = now - began_ >= patience.in_all ||
                           (without_storage_since_ && now - *without_storage_since_ >= patience.without_storage);
  if (is_last && is_hopeless) return {Action::kGiveUp, reason_};
  if (!has_storage || now < due_) return {};
  const std::string why = reason_;
  due_ = now + pause_;
  pause_ = std::min(2 * pause_, kAgainLongest);
  reason_ = "storage said nothing for long";
  return {is_last ? Action::kAskAgain : Action::kCarry, why};
}

}  // namespace shoal
