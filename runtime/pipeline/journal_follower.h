// How a process follows the journal: by position, none skipped, none twice (P-3), for itself and for its actors.
//
// accept() takes what the supervisor sends and gives back the entries that come next; whatever lies beyond a gap is
// thrown away and asked for again, at most once per kAskAgain. When nothing came for kPoll we ask too, because the last
// entry before a silence may have been lost on the way. A message that shows a later position than ours says so
// with saw(). Entries are kept from the first, so that an actor attached later can catch up; all but the newest commit
// are kept without manifests and norms (a few hundred bytes per step, S-6). Nothing of an older term is read (S-4). A
// later term writes the entries after those that its spawner read: one that we have otherwise is of another journal,
// and no one can follow both.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "messages/journal.h"
#include "runtime/base/clock.h"

namespace shoal {

class JournalFollower {
 public:
  static constexpr Duration kAskAgain = std::chrono::milliseconds(200);
  static constexpr Duration kPoll = std::chrono::seconds(2);

  // The entries that come next, in order; empty when there are none, or the sender's term is over.
  [[nodiscard]] std::vector<JournalEntry> accept(const JournalEntries& message, Instant now);
  void saw(JournalPosition position) { known_ = std::max(known_, position); }
  // After which position to fetch, when it is time to.
  [[nodiscard]] std::optional<JournalPosition> gap(Instant now);

  [[nodiscard]] JournalPosition position() const { return JournalPosition{entries_.size()}; }
  [[nodiscard]] bool is_behind(JournalPosition position_seen) const { return position() < position_seen; }
  [[nodiscard]] Term term() const { return term_; }
  // The spawner's journal lacks entries that we have followed: it was copied before they were written.
  [[nodiscard]] bool has_diverged() const { return has_diverged_; }
  [[nodiscard]] const std::vector<JournalEntry>& entries() const { return entries_; }

 private:
  Term term_;
  bool has_diverged_ = false;
  JournalPosition known_;
  std::optional<Instant> asked_at_;  // or got an answer
  std::optional<std::size_t> newest_commit_;
  std::vector<JournalEntry> entries_;
};

}  // namespace shoal
