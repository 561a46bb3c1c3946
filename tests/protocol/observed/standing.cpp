// Applies the entries one after the other.
#include "tests/protocol/observed/standing.h"

#include <algorithm>

#include "runtime/base/compose.h"

namespace shoal::observed {

bool Standing::is_member(Incarnation replica, StageId stage) const {
  const auto found = members.find(replica);
  return found != members.end() && found->second.stage == stage;
}

std::set<Incarnation> Standing::members_of(StageId stage) const {
  std::set<Incarnation> found;
  for (const auto& [replica, member] : members) {
    if (member.stage == stage) found.insert(replica);
  }
  return found;
}

std::optional<Incarnation> Standing::member_in(ProcessIncarnation process, StageId stage) const {
  for (const auto& [replica, member] : members) {
    if (member.process == process && member.stage == stage) return replica;
  }
  return std::nullopt;
}

Standings::Standings(const TracedJournal& journal) : after_(1) {
  for (const auto& [position, entry] : journal.entries()) {
    if (position.value != after_.size()) {
      gap_ =
          Objection{"P-3", compose("entry ", after_.size(), " of the journal is in no trace, entry ", position, " is")};
      return;
    }
    Standing now = after_.back();
    apply(now, entry);
    after_.push_back(std::move(now));
  }
}

const Standing& Standings::at(JournalPosition position) const {
  return after_.at(std::min<std::size_t>(position.value, after_.size() - 1));
}

const std::vector<DueRound>& Standings::due_behind(Branch branch, StepId step, StageId stage) const {
  static const std::vector<DueRound> kNone;
  const auto found = due_.find({branch, step, stage});
  return found == due_.end() ? kNone : found->second;
}

// A branch begins with the first replica that is added on it: nobody of an older one is a member any more (P-1).
void Standings::apply(Standing& now, const TracedEntry& entry) {
  const bool begins = entry.kind == EntryKind::kAdd && (entry.branch > now.branch || after_.size() == 1);
  if (begins) {
    now.members.clear();
    now.groups.clear();
    now.rounds.clear();
    now.due.clear();
    now.branch = entry.branch;
    now.committed = entry.step.value;
  }
  if (entry.kind == EntryKind::kAdd) now.members[Incarnation{entry.subject}] = {entry.stage, entry.process};
  if (entry.kind == EntryKind::kRemove) now.members.erase(Incarnation{entry.subject});
  if (entry.kind == EntryKind::kAppoint) now.groups[entry.stage] = Incarnation{entry.subject};
  if (entry.kind == EntryKind::kCommit) {
    now.committed = entry.step.value + 1;
    now.due.clear();
  }
  if (entry.kind == EntryKind::kRound) {
    now.rounds[{entry.stage, entry.slot.value}] = entry.subject;
    now.due[entry.stage].insert({entry.slot.value, entry.subject});
    if (now.committed > 0) {
      due_[{entry.branch, StepId{now.committed - 1}, entry.stage}].push_back({entry.position, entry.step});
    }
  }
  if (entry.kind == EntryKind::kAdd || entry.kind == EntryKind::kRemove) now.changed[entry.stage] = entry.position;
  if (entry.kind == EntryKind::kQuarantine) {
    now.left_out.emplace(entry.step, entry.microbatch.value);
    for (auto& [stage, position] : now.changed) position = entry.position;
  }
}

}  // namespace shoal::observed
