// The journal by position: what comes next is kept and handed on, everything else is asked for again.
#include "runtime/pipeline/journal_follower.h"

#include <utility>

namespace shoal {

std::vector<JournalEntry> JournalFollower::accept(const JournalEntries& message, Instant now) {
  std::vector<JournalEntry> next;
  if (message.term < term_) return next;
  if (message.term > term_ && !entries_.empty()) {
    must_compare_ = true;
    ask_at_once();
  }
  term_ = message.term;
  if (message.past) adopt(*message.past);
  for (const JournalEntry& entry : message.entries) {
    saw(entry.position);
    const auto index = [this](JournalPosition at) { return at.value - past_.position().value - 1; };
    const bool is_kept = entry.position > past_.position() && entry.position <= position();
    if (is_kept) {
      must_compare_ = false;
      has_diverged_ = has_diverged_ || entries_[index(entry.position)].term != entry.term;
    }
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
  if (next.empty() && !has_adopted_) return next;
  asked_in_vain_ = 0;
  const bool is_answer = message.past || message.entries.size() > 1;  // a single one is news
  const bool may_be_more = is_behind(known_) || is_answer;
  asked_at_ = may_be_more || must_compare_ ? std::nullopt : std::optional(now);
  return next;
}

// What is kept up to there can be compared with nothing.
void JournalFollower::adopt(const ViewState& past) {
  saw(past.position);
  if (past.position < position()) return;
  must_compare_ = false;
  if (past.position == position()) return;
  past_ = View(past);
  entries_.clear();
  newest_commit_.reset();
  has_adopted_ = true;
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
  const Duration again = std::min(kPoll, kAskAgain * (1 << std::min(asked_in_vain_, 8)));
  const Duration pause = is_behind(known_) || must_compare_ ? again : kPoll;
  if (asked_at_ && now - *asked_at_ < pause) return std::nullopt;
  if (asked_at_) ++asked_in_vain_;
  asked_at_ = now;
  return must_compare_ ? past_.position() : position();
}

}  // namespace shoal
