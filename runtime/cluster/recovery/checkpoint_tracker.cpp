// See checkpoint_tracker.h.
#include "runtime/cluster/recovery/checkpoint_tracker.h"

#include <algorithm>

#include "runtime/base/compose.h"

namespace shoal {

void CheckpointTracker::begin_from(std::uint64_t version, std::string weights_sha256) {
  forget_order();
  saved(version, std::move(weights_sha256));
}

// The journal names all that were ordered, and not those that failed or that the next one carried: no more may have
// been on their way at once than there is room for. The older of these are kept, because their progress says that the
// disk is not silent.
void CheckpointTracker::go_on_from(std::uint64_t version, std::string weights_sha256, CheckpointOrder::Rank rank,
                                   Instant now) {
  saved(version, std::move(weights_sha256));
  while (kUnsavedMax.is_exceeded_by(unsaved_.size())) unsaved_.erase(unsaved_.begin());
  if (!under_way_) return;
  under_way_.emplace(under_way_->version(), std::vector(under_way_->savers()), rank, now);
  under_way_->doubt("the spawner was started again", now);
}

void CheckpointTracker::order(std::uint64_t version, std::vector<Incarnation> savers, CheckpointOrder::Rank rank,
                              Instant now) {
  is_owed_ = false;
  std::erase(unsaved_, version);
  unsaved_.push_back(version);
  under_way_.emplace(version, std::move(savers), rank, now);
}

std::optional<std::string> CheckpointTracker::why_not_now(bool has_storage) const {
  if (!has_storage) return "there is no storage; saved when it is back";
  if (!kUnsavedMax.is_reached_by(unsaved_.size())) return std::nullopt;
  return compose("that of step ", unsaved_.front(), " and ", unsaved_.size() - 1,
                 " after it are not saved yet; saved when one is");
}

void CheckpointTracker::order_late(std::uint64_t version, std::vector<Incarnation> savers, Instant now) {
  order(version, std::move(savers), CheckpointOrder::Rank::kLast, now);
  under_way_->doubt("nobody was named to save it", now);
}

void CheckpointTracker::saved(std::uint64_t version, std::string weights_sha256) {
  saved_version_ = version;
  saved_sha256_ = std::move(weights_sha256);
  trouble_.clear();
  std::erase_if(unsaved_, [version](std::uint64_t ordered) { return ordered <= version; });
  if (under_way_ && under_way_->version() <= version) under_way_.reset();
}

void CheckpointTracker::failed(std::uint64_t version) {
  std::erase(unsaved_, version);
  if (under_way_ && under_way_->version() == version) under_way_.reset();
}

void CheckpointTracker::replica_lost(Incarnation replica, Instant now) {
  if (under_way_) under_way_->replica_lost(replica, now);
}

void CheckpointTracker::progress(const StateProgress& progress, Instant now) {
  const bool is_ordered = std::count(unsaved_.begin(), unsaved_.end(), progress.step) > 0;
  if (under_way_ && is_ordered) under_way_->progress(progress, now);
}

void CheckpointTracker::shard_lost(const StateUnavailable& lost, Instant now) {
  if (!under_way_ || under_way_->version() != lost.step) return;
  const bool is_said_by_storage = lost.donor == Incarnation{};
  if (is_said_by_storage) return under_way_->not_stored(lost.replica, lost.reason, now);
  under_way_->shard_lost(lost.replica, lost.reason, now);
}

void CheckpointTracker::storage_lost(Instant now) {
  if (under_way_) under_way_->storage_lost(now);
}

CheckpointOrder::Decision CheckpointTracker::decide(bool has_storage, const CheckpointPatience& patience, Instant now) {
  if (!under_way_) return {};
  auto decision = under_way_->decide(has_storage, patience, now);
  if (decision.action == CheckpointOrder::Action::kCarry) {
    is_owed_ = true;
    std::erase(unsaved_, under_way_->version());
    under_way_.reset();
  }
  return decision;
}

void CheckpointTracker::asked(std::vector<Incarnation> savers) {
  if (under_way_) under_way_->asked(std::move(savers));
}

std::optional<std::uint64_t> CheckpointTracker::version_under_way() const {
  return under_way_ ? std::optional(under_way_->version()) : std::nullopt;
}

std::optional<Instant> CheckpointTracker::moved_at() const {
  return under_way_ ? std::optional(under_way_->moved_at()) : std::nullopt;
}

bool CheckpointTracker::is_saving(Incarnation replica) const {
  return under_way_ && std::count(under_way_->savers().begin(), under_way_->savers().end(), replica) > 0;
}

}  // namespace shoal
