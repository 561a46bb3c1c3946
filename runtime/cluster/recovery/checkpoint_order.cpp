// Silence has a due time that progress puts off; what is known to have gone wrong has another that nothing puts off.
#include "runtime/cluster/recovery/checkpoint_order.h"

namespace shoal {

namespace {

constexpr Duration kAgainLongest = std::chrono::minutes(5);

}  // namespace

CheckpointOrder::CheckpointOrder(std::uint64_t version, std::vector<Incarnation> savers, Rank rank, Instant now)
    : version_(version), savers_(std::move(savers)), rank_(rank), began_(now), moved_at_(now), due_(now + kSilence) {}

void CheckpointOrder::progress(const StateProgress& shard, Instant now) {
  Shard& known = shards_.try_emplace({shard.step, shard.stage}, Shard{ProgressWatch(began_)}).first->second;
  if (known.watch.seen(shard.bytes, now)) {
    moved_at_ = now;
    due_ = now + silence_;
  }
  known.is_at_storage |= shard.bytes > 0 && 2 * shard.bytes >= shard.bytes_total;
  if (!is_at_storage(shard.stage) || !doubt_ || doubt_->stages.erase(shard.stage) == 0) return;
  if (doubt_->stages.empty()) doubt_.reset();
}

bool CheckpointOrder::is_at_storage(StageId stage) const {
  const auto found = shards_.find({version_, stage});
  return found != shards_.end() && found->second.is_at_storage;
}

void CheckpointOrder::doubt_all(Instant due, const std::string& reason) {
  if (doubt_) due = std::min(due, doubt_->due);
  doubt_ = Doubt{due, reason, {}};
  shards_.clear();
}

void CheckpointOrder::replica_lost(Incarnation replica, Instant now) {
  shard_lost(replica, "who was to save it was lost", now);
}

// One saver per stage, in their order.
std::optional<StageId> CheckpointOrder::stage_saved_by(Incarnation replica) const {
  const auto saver = std::find(savers_.begin(), savers_.end(), replica);
  if (saver == savers_.end()) return std::nullopt;
  return StageId{static_cast<std::uint32_t>(saver - savers_.begin())};
}

void CheckpointOrder::doubt_one(StageId stage, const std::string& reason, Instant now) {
  if (doubt_ && doubt_->stages.empty()) return;
  if (!doubt_) doubt_ = Doubt{now + kSettle, reason, {}};
  doubt_->stages.insert(stage);
}

void CheckpointOrder::shard_lost(Incarnation replica, const std::string& reason, Instant now) {
  const auto stage = stage_saved_by(replica);
  if (stage && !is_at_storage(*stage)) doubt_one(*stage, reason, now);
}

void CheckpointOrder::not_stored(Incarnation replica, const std::string& reason, Instant now) {
  const auto stage = stage_saved_by(replica);
  if (!stage) return;
  const auto known = shards_.find({version_, *stage});
  if (known != shards_.end()) known->second.is_at_storage = false;
  doubt_one(*stage, reason, now);
}

void CheckpointOrder::storage_lost(Instant now) { doubt_all(now, "storage was lost"); }

void CheckpointOrder::doubt(const std::string& reason, Instant now) { doubt_all(now + kSettle, reason); }

CheckpointOrder::Decision CheckpointOrder::decide(bool has_storage, const CheckpointPatience& patience, Instant now) {
  if (!has_storage && !without_storage_since_) without_storage_since_ = now;
  if (!has_storage) doubt_all(now, "there was no storage");
  if (has_storage) without_storage_since_.reset();
  const std::string why = doubt_ ? doubt_->reason : "storage said nothing for long";
  const bool is_last = rank_ == Rank::kLast;
  const bool is_hopeless = now - moved_at_ >= patience.in_vain ||
                           (without_storage_since_ && now - *without_storage_since_ >= patience.without_storage);
  if (is_last && is_hopeless) return {Action::kGiveUp, why};
  const Instant due = doubt_ ? std::min(doubt_->due, due_) : due_;
  if (!has_storage || now < due) return {};
  const bool is_known = doubt_ && !doubt_->stages.empty();
  if (!is_known) {
    for (auto& [which, shard] : shards_) shard.is_at_storage = false;  // storage is not believed to have it any more
  }
  doubt_.reset();
  silence_ = pause_;
  due_ = now + silence_;
  pause_ = std::min(2 * pause_, kAgainLongest);
  return {is_last ? Action::kAskAgain : Action::kCarry, why};
}

}  // namespace shoal
