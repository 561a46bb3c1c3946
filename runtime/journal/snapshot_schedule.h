// Decides when the oldest entries of a journal give way to what they say, and to what (P-3a: JournalSnapshot).
//
//   position   0 ... every ... 2 x every ... 3 x every          at 3 x every what was taken at 2 x every is due: the
//                      taken       taken     here, taken        entries up to there go, those after it stay
//
// So at least `every` entries stay, at most twice as many. Followers that have not read all of them need them; so does
// state that is no part of a snapshot; and a start that lacks the newest words of the one before it (a
// trace, a metrics file) finds the entries they were made of. A function of the journal, so that a spawner that is
// started again and again takes them all the same. Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "messages/journal.h"
#include "runtime/base/bound.h"

namespace shoal {

class SnapshotSchedule {
 public:
  static inline const Bound kEveryDefault{"journal.snapshot_every",
                                          512};  // entries: 1.5 to 8 MB of them, some minutes to an hour
  static inline const Bound kOrdersMax{"journal.checkpoints_remembered", 4};  // as CheckpointTracker::kUnsavedMax

  // every: entries; 0: never.
  explicit SnapshotSchedule(std::uint64_t every) : every_(every) {}

  // Starts from a snapshot, which is read in place of the entries before it.
  void begin_at(const JournalSnapshot& past) {
    branch_ = past.highest_branch;
    orders_.assign(past.checkpoints.begin(), past.checkpoints.end());
  }
  // Follows the journal in its order.
  void follow(const JournalEntry& entry) {
    if (entry.branch > branch_) orders_.clear();
    branch_ = std::max(branch_, entry.branch);
    const auto* commit = std::get_if<Commit>(&entry.body);
    if (commit == nullptr || commit->checkpoint_by.empty()) return;
    orders_.push_back({commit->step.value + 1, commit->checkpoint_by});
    if (kOrdersMax.is_exceeded_by(orders_.size())) orders_.pop_front();
  }
  // Checkpoints that commits of the branch ordered, the newest last.
  [[nodiscard]] std::vector<OrderedCheckpoint> orders() const { return {orders_.begin(), orders_.end()}; }

  // True when a snapshot is to be taken after the entry at this position, and given to take().
  [[nodiscard]] bool is_time(JournalPosition position) const {
    return every_ != 0 && kEveryDefault.reached_if(position.value % every_ == 0);
  }
  // needed_from: the oldest entry that a start must still read, whatever a snapshot says. None: there is none.
  void take(JournalSnapshot snapshot, std::optional<JournalPosition> needed_from) {
    const bool is_needed = taken_ && needed_from && *needed_from <= taken_->view.position;
    if (is_needed) return;
    if (taken_) due_ = std::move(taken_);
    taken_ = std::move(snapshot);
  }
  // The newest that is due, once.
  [[nodiscard]] std::optional<JournalSnapshot> take_due() { return std::exchange(due_, std::nullopt); }

 private:
  std::uint64_t every_;
  Branch branch_;  // the highest of any entry
  std::deque<OrderedCheckpoint> orders_;
  std::optional<JournalSnapshot> taken_;
  std::optional<JournalSnapshot> due_;
};

}  // namespace shoal
