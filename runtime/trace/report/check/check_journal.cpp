// Copies are compared in the order of time, entries in their own.
#include "runtime/trace/report/check/check_journal.h"

#include <algorithm>
#include <iterator>
#include <tuple>

#include "runtime/base/compose.h"
#include "runtime/trace/report/check/check_passing.h"

namespace shoal {
namespace {

auto identity_of(const TracedEntry& entry) {
  return std::tuple{entry.kind,    entry.branch,  entry.term, entry.stage,   entry.slot,
                    entry.subject, entry.process, entry.step, entry.content, entry.microbatch};
}

std::string describe(const TracedEntry& entry) {
  static constexpr const char* kWords[] = {"AddReplica", "RemoveReplica", "AppointGroup", "Commit",
                                           "FinishRun",  "Quarantine",    "CommitRound",  "entry"};
  const std::string word = kWords[static_cast<std::size_t>(entry.kind)];
  if (entry.kind == EntryKind::kCommit) return compose("commit of step ", entry.step, " of branch ", entry.branch);
  return compose(word, " ", entry.subject, " of stage ", entry.stage, ", branch ", entry.branch);
}

std::optional<std::uint64_t> position_of(const TracedEvent& traced) {
  const Topic topic = topic_of(traced.event);
  return topic.kind == TopicKind::kPosition ? std::optional(topic.number) : std::nullopt;
}

bool has_positions(const PieceTopics& topics, std::uint64_t begin, std::uint64_t end) {
  return topics.positions.touches(begin, end);
}

}  // namespace

Status walk_journal(const WindowedTrace& trace, const TakeEntries& take, CheckMemory& memory) {
  const NumberRange positions = trace.pieces.all_topics().positions;
  return walk_windows(
      trace, {positions.least, positions.end(), position_of, has_positions},
      [&take](const EventWindow& window) { return take(window, TracedJournal(window.trace())); }, memory.events);
}

void JournalCheck::take(const EventWindow& window, const TracedJournal& entries) {
  const auto& events = window.trace().events;
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (!is_entry(events[i].event)) continue;
    const TracedEntry copy = entry_of(events[i]);
    const TracedEntry& first = entries.entries().at(copy.position);
    if (copy.kind == EntryKind::kAdd) members_.note_added(Incarnation{copy.subject}, window.order_of(i), first);
    compare_with_first(window.trace(), entries, events[i], window.order_of(i));
  }
  for (const auto& [position, entry] : entries.entries()) {
    check_order(entry);
    members_.follow(entry);
    if (entry.kind == EntryKind::kAdd) begin_branch(entry);
    if (entry.kind == EntryKind::kCommit) check_one_commit(entry);
    before_ = entry;
  }
}

std::optional<JournalPosition> JournalCheck::last() const {
  return before_ ? std::optional(before_->position) : std::nullopt;
}

std::size_t JournalCheck::size() const {
  std::size_t size = members_.size() + begins_.size();
  for (const auto& [branch, runs] : steps_) size += runs.size();
  return size;
}

void JournalCheck::report(std::vector<Violation>& out, std::vector<std::string>& notes) {
  std::ranges::move(untold_, std::back_inserter(notes));
  append_in_order(std::move(copies_), out);
  std::ranges::move(repeated_, std::back_inserter(out));
  std::ranges::move(disordered_, std::back_inserter(out));
}

void JournalCheck::begin_branch(const TracedEntry& added) {
  const std::uint64_t begin = added.step.value;
  if (!begins_.try_emplace(added.branch, begin).second || begin <= told_end_) return;
  const bool is_one = begin == told_end_ + 1;
  untold_.push_back(compose(is_one ? "step " : "steps ", told_end_, is_one ? "" : compose(" to ", begin - 1),
                            is_one ? " is" : " are",
                            " in no trace, as what one process trains (--single), and not checked"));
}

// Checks that a position has one entry, whichever process recorded it.
void JournalCheck::compare_with_first(const RunTrace& trace, const TracedJournal& entries, const TracedEvent& traced,
                                      const EventOrder& order) {
  const TracedEntry copy = entry_of(traced);
  const TracedEntry& first = entries.entries().at(copy.position);
  if (identity_of(copy) == identity_of(first)) return;
  const bool is_commit = copy.kind == EntryKind::kCommit || first.kind == EntryKind::kCommit;
  copies_.push_back(
      {order,
       {is_commit ? Rule::kOneCommit : Rule::kView,
        compose("journal position ", copy.position, " is two things: ", describe(first), " (term ", first.term,
                ") for ", actor_in_words(trace, trace.events[first.event]), ", ", describe(copy), " (term ", copy.term,
                ") for ", actor_in_words(trace, traced), is_commit ? "; their contents differ" : "")}});
}

// Nothing of an older term or branch comes after a newer one.
void JournalCheck::check_order(const TracedEntry& entry) {
  if (!before_ || (entry.term >= before_->term && entry.branch >= before_->branch)) return;
  disordered_.push_back(
      {Rule::kView, compose(describe(entry), " at position ", entry.position, " is of term ", entry.term, ", branch ",
                            entry.branch, ", after an entry of term ", before_->term, ", branch ", before_->branch)});
}

// One step of a branch, one commit.
void JournalCheck::check_one_commit(const TracedEntry& commit) {
  ++commit_count_;
  told_end_ = std::max(told_end_, commit.step.value + 1);
  EvenRuns& positions = steps_[commit.branch];
  const auto first = positions.find(commit.step.value);
  if (!first) return positions.add(commit.step.value, commit.position.value);
  repeated_.push_back(
      {Rule::kOneCommit, compose("step ", commit.step, " of branch ", commit.branch,
                                 " is committed twice: at positions ", *first, " and ", commit.position)});
}

}  // namespace shoal
