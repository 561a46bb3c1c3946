// Follows the journal in a process: by position, none skipped, none twice (P-3), for itself and for its actors.
//
// accept() takes what the supervisor sends and gives back the entries that come next; entries beyond a gap are
// thrown away and asked for again, after kAskAgain, then twice as long, and so on up to kPoll. A long journal comes in
// letters of many entries, each asked for when the one before is here: what is on its way is bounded. When nothing came
// for kPoll we ask too, because the last entry before a silence may have been lost on the way. A message that shows a
// later position than ours says so with saw(). For an actor attached later the newest entries are kept, at most
// kEntriesMax (S-6), all but the newest commit without manifests and norms; what those before them said is the view
// past(). A follower that lacks entries which the journal keeps no more is given such a view in place of them, and
// begins with it (P-3a): JournalNews::past. Nothing of an older term is read (S-4). A later term writes the entries
// after those that its spawner read, so the kept ones are asked for once more: one that we have otherwise is of another
// journal, and no one can follow both (P-3b); entries that are no longer kept cannot be compared.
#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "messages/journal.h"
#include "runtime/base/bound.h"
#include "runtime/base/clock.h"
#include "runtime/journal/view.h"

namespace shoal {

// News for a follower from one letter of the supervisor.
struct JournalNews {
  // The view that the entries follow, in place of all earlier entries; null if they continue the earlier ones. Not
  // JournalFollower::past(): that has moved on already if there are more entries than are kept.
  std::shared_ptr<const View> past;
  std::vector<JournalEntry> entries;  // in order
};

class JournalFollower {
 public:
  static constexpr Duration kAskAgain = std::chrono::milliseconds(200);
  static constexpr Duration kPoll = std::chrono::seconds(2);
  static inline const Bound kEntriesMax{"journal.entries_kept", 128};

  // Returns what is new; nothing when the sender's term is over.
  [[nodiscard]] JournalNews accept(const JournalEntries& message, Instant now);
  void saw(JournalPosition position) { known_ = std::max(known_, position); }
  // Our link with the spawner is new: what was on its way is lost.
  void ask_at_once() { asked_at_.reset(); }
  // Returns the position after which to fetch, when it is time to.
  [[nodiscard]] std::optional<JournalPosition> gap(Instant now);

  [[nodiscard]] JournalPosition position() const { return JournalPosition{past_.position().value + entries_.size()}; }
  [[nodiscard]] bool is_behind(JournalPosition position_seen) const { return position() < position_seen; }
  [[nodiscard]] Term term() const { return term_; }
  // The spawner's journal lacks entries that we have followed: it was copied before they were written.
  [[nodiscard]] bool has_diverged() const { return has_diverged_; }
  // Entries after past().
  [[nodiscard]] const std::deque<JournalEntry>& entries() const { return entries_; }
  [[nodiscard]] const View& past() const { return past_; }

 private:
  [[nodiscard]] std::shared_ptr<const View> adopt(const ViewState& past);
  [[nodiscard]] bool is_next(const JournalEntry& entry);
  void keep(const JournalEntry& entry);
  void forget_old();

  Term term_;
  bool has_diverged_ = false;
  JournalPosition known_;
  std::optional<Instant> asked_at_;  // or got an answer
  int asked_in_vain_ = 0;            // since one came
  bool must_compare_ = false;        // true: kept entries are to be compared with a later term's journal
  std::optional<JournalPosition> newest_commit_;
  View past_;
  std::deque<JournalEntry> entries_;
};

}  // namespace shoal
