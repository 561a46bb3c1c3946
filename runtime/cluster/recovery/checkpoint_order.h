// A checkpoint as an order that is acknowledged: named in a commit, done when storage says so; asked for again when the
// replica that saves a shard, the shard, storage or its answer is lost.
//
//   ordered ──CheckpointSaved──▶ done
//     │ a saver, its shard or storage is lost, or no more of any shard has come for long
//     ├─ steps follow: the next commit names savers again        (kCarry)
//     └─ the last one: replicas still hold that state; they are asked for it directly, again and again, until storage
//        has it or patience is over                              (kAskAgain, kGiveUp)
//
// How large the shards are and how slow their ways, nobody knows: patience counts from the last progress of any of
// them. A shard that is at storage needs its saver no more. Without storage nothing is asked for until storage is
// back. Pure: time comes in.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "messages/storage.h"
#include "runtime/base/time/progress_watch.h"

namespace shoal {

struct CheckpointPatience {
  Duration without_storage = std::chrono::minutes(2);
  Duration in_vain = std::chrono::minutes(10);  // without any progress, however often it was asked for
};

class CheckpointOrder {
 public:
  static constexpr Duration kSilence = std::chrono::seconds(60);  // without progress: a shard or an answer is lost
  static constexpr Duration kSettle = std::chrono::seconds(1);    // a lost saver's shard may be there already
  static constexpr Duration kAgainFirst = std::chrono::seconds(5);

  enum class Rank : std::uint8_t { kOneOfMany, kLast };
  enum class Action : std::uint8_t { kWait, kCarry, kAskAgain, kGiveUp };
  struct Decision {
    Action action = Action::kWait;
    std::string reason;
  };

  CheckpointOrder(std::uint64_t version, std::vector<Incarnation> savers, Rank rank, Instant now);

  // So many bytes of a stage's shard are at storage, and after that written. Shards of older checkpoints may be before
  // those of this one on their way.
  void progress(const StateProgress& shard, Instant now);
  void replica_lost(Incarnation replica, Instant now);
  // The shard that this one sent may have been lost on its way, for this reason.
  void shard_lost(Incarnation replica, const std::string& reason, Instant now);
  // Storage says that it does not have it, whatever was seen to come.
  void not_stored(Incarnation replica, const std::string& reason, Instant now);
  void storage_lost(Instant now);
  // Whatever was sent may have been lost, for this reason.
  void doubt(const std::string& reason, Instant now);
  // They were asked to save it, after a kAskAgain.
  void asked(std::vector<Incarnation> savers) { savers_ = std::move(savers); }
  // kAskAgain and kCarry are said once per try.
  [[nodiscard]] Decision decide(bool has_storage, const CheckpointPatience& patience, Instant now);

  [[nodiscard]] std::uint64_t version() const { return version_; }
  [[nodiscard]] const std::vector<Incarnation>& savers() const { return savers_; }
  // True when the shard of this stage is at storage: it is not asked for again.
  [[nodiscard]] bool is_at_storage(StageId stage) const;
  [[nodiscard]] Instant moved_at() const { return moved_at_; }

 private:
  struct Shard {
    ProgressWatch watch;
    bool is_at_storage = false;
  };
  struct Doubt {
    Instant due;
    std::string reason;
    std::set<StageId> stages;  // stages whose shards may be lost; empty: everything
  };

  void doubt_all(Instant due, const std::string& reason);
  void doubt_one(StageId stage, const std::string& reason, Instant now);
  // The stage whose shard this one saves; none: it saves none.
  [[nodiscard]] std::optional<StageId> stage_saved_by(Incarnation replica) const;

  std::uint64_t version_;
  std::vector<Incarnation> savers_;
  Rank rank_;
  Instant began_;
  Instant moved_at_;  // the last progress, or the order
  Instant due_;       // time for the next progress
  Duration silence_ = kSilence;
  Duration pause_ = kAgainFirst;
  std::map<std::pair<std::uint64_t, StageId>, Shard> shards_;  // by steps applied and stage
  std::optional<Doubt> doubt_;
  std::optional<Instant> without_storage_since_;
};

}  // namespace shoal
