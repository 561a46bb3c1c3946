// Decides which state of a run is safe: the newest checkpoint at storage, the one under way, one still owed (P-29a).
//
// Checkpoints are named by the steps applied. Of those under way only the newest counts: an older one that comes to its
// end is as welcome, and one that is lost is carried by the next. Pure: time comes in.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "messages/storage.h"
#include "runtime/base/bound.h"
#include "runtime/cluster/recovery/checkpoint_order.h"

namespace shoal {

class CheckpointTracker {
 public:
  static inline const Bound kUnsavedMax{"supervision.unsaved_checkpoints",
                                        4};  // sets of shards that may wait for the disk

  // The history goes on from here, and what was under way belongs to another. version 0: from no checkpoint.
  void begin_from(std::uint64_t version, std::string weights_sha256);
  // The same, and an order of this history that the journal told of is doubted: who gave it may not have heard the end.
  void go_on_from(std::uint64_t version, std::string weights_sha256, CheckpointOrder::Rank rank, Instant now);

  // Ordered by a commit, or of whoever holds the state; whatever was owed is paid with it.
  void order(std::uint64_t version, std::vector<Incarnation> savers, CheckpointOrder::Rank rank, Instant now);
  // Orders a last state that no commit named a saver for.
  void order_late(std::uint64_t version, std::vector<Incarnation> savers, Instant now);
  // Why none can be ordered now: a few at a time, or whole shards would pile up before a slow disk. Nothing: it can.
  [[nodiscard]] std::optional<std::string> why_not_now(bool has_storage) const;
  // One is due that cannot be ordered yet. Whether that is news.
  [[nodiscard]] bool owe() { return !std::exchange(is_owed_, true); }
  void forget_order() { under_way_.reset(), unsaved_.clear(); }
  // Notes why one is not saved, until one is.
  void note_trouble(std::string why) { trouble_ = std::move(why); }

  // False: an older one than storage has, or that one again.
  [[nodiscard]] bool is_news(std::uint64_t version) const { return version > saved_version_; }
  void saved(std::uint64_t version, std::string weights_sha256);
  void failed(std::uint64_t version);
  // Takes the progress of a shard of any ordered checkpoint: on its way to storage, or being written there.
  void progress(const StateProgress& progress, Instant now);
  void replica_lost(Incarnation replica, Instant now);
  void shard_lost(const StateUnavailable& lost, Instant now);
  void storage_lost(Instant now);
  // They are asked again to save what is under way.
  void asked(std::vector<Incarnation> savers);
  // Decides what becomes of the order under way; kWait without one. After kCarry it is owed.
  [[nodiscard]] CheckpointOrder::Decision decide(bool has_storage, const CheckpointPatience& patience, Instant now);

  [[nodiscard]] bool is_owed() const { return is_owed_; }
  // Why none was saved since the newest one; empty: nothing is wrong.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }
  [[nodiscard]] bool has(std::uint64_t version) const { return saved_version_ >= version; }
  [[nodiscard]] std::uint64_t saved_version() const { return saved_version_; }
  [[nodiscard]] const std::string& saved_sha256() const { return saved_sha256_; }
  [[nodiscard]] std::optional<std::uint64_t> version_under_way() const;
  // The shard of this stage is at storage already.
  [[nodiscard]] bool is_at_storage(StageId stage) const { return under_way_ && under_way_->is_at_storage(stage); }
  // When the one under way came closer; it was ordered then if not since. None: there is none.
  [[nodiscard]] std::optional<Instant> moved_at() const;
  // True when the order under way is addressed to this replica.
  [[nodiscard]] bool is_saving(Incarnation replica) const;

 private:
  std::uint64_t saved_version_ = 0;
  std::string saved_sha256_;
  std::optional<CheckpointOrder> under_way_;  // the newest
  std::vector<std::uint64_t> unsaved_;        // all that were ordered and are neither saved nor failed
  bool is_owed_ = false;
  std::string trouble_;
};

}  // namespace shoal
