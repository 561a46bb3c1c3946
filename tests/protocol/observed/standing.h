// The journal of an observed run as it stands after each entry: who is a member where, which group is appointed, what
// is committed. Built from the trace before it is judged, because followers and groups read the same entries at any
// pace.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "messages/sync.h"
#include "runtime/trace/report/traced_journal.h"

namespace shoal::observed {

// Why an event is no step of the model: the rule of the protocol that it breaks, and what is wrong.
struct Objection {
  std::string rule;
  std::string text;
};

// The entry of a round behind a commit.
struct DueRound {
  JournalPosition position;
  StepId contributed;  // steps applied at its contributions
};

struct Member {
  StageId stage;
  ProcessIncarnation process;
};

// After one entry.
struct Standing {
  Branch branch;
  std::uint64_t committed = 0;  // steps
  std::map<Incarnation, Member> members;
  std::map<StageId, Incarnation> groups;
  std::map<StageId, JournalPosition> changed;           // the newest entry that voids the votes of a stage
  std::set<std::pair<StepId, std::uint32_t>> left_out;  // quarantined
  std::map<std::pair<StageId, std::uint32_t>, std::uint64_t> rounds;  // the newest of each fragment, on this branch
  std::map<StageId, std::set<RoundId>> due;                           // rounds since the newest commit (P-32)

  [[nodiscard]] bool is_member(Incarnation replica, StageId stage) const;
  [[nodiscard]] std::set<Incarnation> members_of(StageId stage) const;
  // The member of a stage that runs in a process.
  [[nodiscard]] std::optional<Incarnation> member_in(ProcessIncarnation process, StageId stage) const;
};

class Standings {
 public:
  explicit Standings(const TracedJournal& journal);

  // Why the journal cannot be judged: an entry is in no trace.
  [[nodiscard]] const std::optional<Objection>& gap() const { return gap_; }
  // Takes the last position for any behind it.
  [[nodiscard]] const Standing& at(JournalPosition position) const;
  // The rounds of a stage whose place is behind the commit of this step (P-32).
  [[nodiscard]] const std::vector<DueRound>& due_behind(Branch branch, StepId step, StageId stage) const;
  [[nodiscard]] JournalPosition last() const { return JournalPosition{after_.size() - 1}; }

 private:
  void apply(Standing& now, const TracedEntry& entry);

  std::vector<Standing> after_;
  std::map<std::tuple<Branch, StepId, StageId>, std::vector<DueRound>> due_;
  std::optional<Objection> gap_;
};

}  // namespace shoal::observed
