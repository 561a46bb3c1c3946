// The journal by position: what comes next is kept and handed on, everything else is asked for again.
#include "runtime/pipeline/journal_follower.h"

#include "runtime/cluster/view.h"

namespace shoal {

std::vector<JournalEntry> JournalFollower::accept(const JournalEntries& message, Instant now) {
  std::vector<JournalEntry> next;
  if (message.term < term_) return next;
  term_ = message.term;
  for (const JournalEntry& entry : message.entries) {
    saw(entry.position);
    const bool is_known = entry.position.value > 0 && entry.position.value <= entries_.size();
    if (is_known && entries_[entry.position.value - 1].term != entry.term) has_diverged_ = true;
    if (entry.position.value != entries_.size() + 1) continue;
    if (std::holds_alternative<Commit>(entry.body)) {
      if (newest_commit_) entries_[*newest_commit_] = without_details(std::move(entries_[*newest_commit_]));
      newest_commit_ = entries_.size();
    }
    entries_.push_back(entry);
    next.push_back(entry);
  }
  if (!next.empty()) asked_at_ = is_behind(known_) ? std::nullopt : std::optional(now);
  return next;
}

std::optional<JournalPosition> JournalFollower::gap(Instant now) {
  const Duration pause = is_behind(known_) ? kAskAgain : kPoll;
  if (asked_at_ && now - *asked_at_ < pause) return std::nullopt;
  asked_at_ = now;
  return position();
}

}  // namespace shoal
