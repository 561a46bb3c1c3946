// The journal by position: what comes next is kept and handed on, everything else is asked for again.
#include "runtime/pipeline/journal_follower.h"

namespace shoal {

std::vector<JournalEntry> JournalFollower::accept(const JournalEntries& message, Instant now) {
  std::vector<JournalEntry> next;
  if (message.term < term_) return next;
  term_ = message.term;
  for (const JournalEntry& entry : message.entries) {
    saw(entry.position);
    const auto index = [this](JournalPosition at) { return at.value - past_.position().value - 1; };
    const bool is_kept = entry.position > past_.position() && entry.position <= position();
    if (is_kept && entries_[index(entry.position)].term != entry.term) has_diverged_ = true;
    if (entry.position.value != position().value + 1) continue;
    if (std::holds_alternative<Commit>(entry.body)) {
      if (newest_commit_ && *newest_commit_ > past_.position()) {
        JournalEntry& before = entries_[index(*newest_commit_)];
        before = without_details(std::move(before));
      }
      newest_commit_ = entry.position;
    }
    entries_.push_back(entry);
    next.push_back(entry);
    forget_old();
  }
  if (!next.empty()) asked_at_ = is_behind(known_) ? std::nullopt : std::optional(now);
  return next;
}

// Half of them at a time; the newest stay.
void JournalFollower::forget_old() {
  if (entries_.size() <= kEntriesMax) return;
  while (entries_.size() > kEntriesMax / 2) {
    past_.apply(entries_.front());
    entries_.pop_front();
  }
}

std::optional<JournalPosition> JournalFollower::gap(Instant now) {
  const Duration pause = is_behind(known_) ? kAskAgain : kPoll;
  if (asked_at_ && now - *asked_at_ < pause) return std::nullopt;
  asked_at_ = now;
  return position();
}

}  // namespace shoal
