// The journal by position: what comes next is kept and handed on, everything else is asked for again.
#include "runtime/journal/follower.h"

#include <utility>

namespace shoal {

JournalNews JournalFollower::accept(const JournalEntries& message, Instant now) {
  JournalNews news;
  if (message.term < term_) return news;
  if (message.term > term_ && !entries_.empty()) {
    must_compare_ = true;
    ask_at_once();
  }
  term_ = message.term;
  if (message.past) news.past = adopt(*message.past);
  for (const JournalEntry& entry : message.entries) {
    if (!is_next(entry)) continue;
    keep(entry);
    news.entries.push_back(entry);
  }
  if (news.entries.empty() && !news.past) return news;
  asked_in_vain_ = 0;
  const bool is_answer = message.past || message.entries.size() > 1;  // a single one is news
  const bool may_be_more = is_behind(known_) || is_answer;
  asked_at_ = may_be_more || must_compare_ ? std::nullopt : std::optional(now);
  return news;
}

// Starts over from a state that the supervisor sent. The journal keeps no entry up to there to compare ours with.
std::shared_ptr<const View> JournalFollower::adopt(const ViewState& past) {
  saw(past.position);
  if (past.position < position()) return nullptr;
  must_compare_ = false;
  if (past.position == position()) return nullptr;
  past_ = View(past);
  entries_.clear();
  newest_commit_.reset();
  return std::make_shared<const View>(past_);
}

// Compares an entry that is kept.
bool JournalFollower::is_next(const JournalEntry& entry) {
  saw(entry.position);
  const bool is_kept = entry.position > past_.position() && entry.position <= position();
  if (is_kept) {
    must_compare_ = false;
    const JournalEntry& kept = entries_[entry.position.value - past_.position().value - 1];
    has_diverged_ = has_diverged_ || kept.term != entry.term;
  }
  return entry.position.value == position().value + 1;
}

void JournalFollower::keep(const JournalEntry& entry) {
  if (std::holds_alternative<Commit>(entry.body)) {
    if (newest_commit_ && *newest_commit_ > past_.position()) {
      JournalEntry& before = entries_[newest_commit_->value - past_.position().value - 1];
      before = without_details(std::move(before));
    }
    newest_commit_ = entry.position;
  }
  entries_.push_back(entry);
  forget_old();
}

// Half of them at a time; the newest stay.
void JournalFollower::forget_old() {
  if (!kEntriesMax.is_exceeded_by(entries_.size())) return;
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
