// View: what the journal says after its first `position()` entries: which replica serves which stage, where, in which
// sync group, and how many steps are committed.
//
// All processes follow the same entries in the same order, none skipped (P-3), so equal positions mean equal views: one
// that is made from the state of another one goes on as that one does. An entry out of order is a bug of the caller
// (ENSURE); fetch the gap first. Pure values; copies are independent. Bounded
// (S-6) by the members, kTotalsMax steps' totals, the quarantines (quarantines.h) and the lost samples that are
// trained again (requeued_samples.h).
//
// A new branch begins with AddReplica entries under a higher branch number: they empty the membership and their
// `version` says how many steps the branch starts with. FinishRun ends a run until an AddReplica after it resumes it:
// a follower acts on is_finished() once it has read everything, never on an old FinishRun entry by itself.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "messages/journal.h"
#include "runtime/base/bound.h"
#include "runtime/journal/lost_tokens.h"
#include "runtime/journal/quarantines.h"
#include "runtime/journal/requeued_samples.h"
#include "runtime/journal/run_ends.h"
#include "runtime/journal/view/agreed_rounds.h"
#include "runtime/journal/view/members.h"

namespace shoal {

class View {
 public:
  // Beyond these the totals of steps without a checkpoint are forgotten, the oldest first; then the oldest of all. A
  // branch that begins where they are forgotten takes every step before it for as large as its first.
  static inline const Bound kTotalsMax{"journal.totals_kept", 1024};

  View();
  // Continues another view from its state: what the entries up to that position say, without them.
  explicit View(const ViewState& state);
  View(const View& other);
  View(View&& other) noexcept;
  View& operator=(const View& other);
  View& operator=(View&& other) noexcept;
  ~View();
  [[nodiscard]] ViewState state() const;

  // `entry.position` must be position() + 1 (ENSURE).
  void apply(const JournalEntry& entry);

  [[nodiscard]] JournalPosition position() const { return position_; }
  [[nodiscard]] Branch branch() const { return branch_; }
  // Steps committed on this branch since step 0; the step in progress is StepId{committed_steps()}.
  [[nodiscard]] std::uint64_t committed_steps() const { return committed_steps_; }
  // Updates applied and target tokens counted in those steps.
  [[nodiscard]] std::uint64_t optimizer_step() const;
  [[nodiscard]] std::uint64_t tokens_total() const;
  // Tokens trained, and not in the model, as of the rounds agreed so far; each at most once.
  [[nodiscard]] const LostTokens& lost() const { return lost_; }
  // Steps committed in the state that all members began with, at the start of this branch or of a resumed run.
  [[nodiscard]] std::uint64_t start() const { return rounds_.start(); }
  [[nodiscard]] const RunEnds& ends() const { return ends_; }
  // The newest commit was said to be the run's last: rounds in flight are due after it, too.
  [[nodiscard]] bool is_at_last_commit() const { return is_at_last_commit_; }
  // Steps skipped without an applied one since.
  [[nodiscard]] int skips_in_a_row() const { return skips_in_a_row_; }

  // Who serves which stage, where, and in which sync group: the common questions here, the others in members().
  [[nodiscard]] const ViewMembers& members() const { return members_; }
  [[nodiscard]] const std::vector<ReplicaMember>& replicas_of(StageId stage) const { return members_.of(stage); }
  [[nodiscard]] std::uint32_t stage_count() const { return members_.stage_count(); }
  [[nodiscard]] std::size_t replica_count() const { return members_.count(); }
  [[nodiscard]] bool contains(Incarnation replica) const { return members_.contains(replica); }
  [[nodiscard]] std::optional<StageId> stage_of(Incarnation replica) const { return members_.stage_of(replica); }
  [[nodiscard]] std::optional<ReplicaMember> find(Incarnation replica) const { return members_.find(replica); }

  // Rounds that are agreed here, or in the state that all members began with.
  [[nodiscard]] const AgreedRounds& rounds() const { return rounds_; }

  // Microbatches that are planned no more: of the step in progress, and of all steps on any branch.
  [[nodiscard]] const std::set<MicrobatchId>& quarantined() const { return quarantines_.of(StepId{committed_steps_}); }
  [[nodiscard]] const Quarantines& quarantines() const { return quarantines_; }
  // Tells what is planned where on this branch, when lost samples are trained again.
  [[nodiscard]] const RequeuedSamples& requeued() const { return requeued_; }

  [[nodiscard]] bool is_finished() const { return finished_.has_value(); }
  // Says why a run is finished; empty while it is not.
  [[nodiscard]] std::string finish_reason() const { return finished_.value_or(std::string()); }

 private:
  void begin_branch(Branch branch, std::uint64_t version);
  void keep(const StepTotals& totals);
  void change(const JournalEntry& entry, const AddReplica& added);
  void change(const JournalEntry& entry, const RemoveReplica& removed);
  void change(const JournalEntry& entry, const AppointGroup& appointed);
  void change(const JournalEntry& entry, const Commit& commit);
  void change(const JournalEntry& entry, const FinishRun& finish);
  void change(const JournalEntry& entry, const Quarantine& quarantine);
  void change(const JournalEntry& entry, const CommitRound& commit);

  JournalPosition position_;
  Branch branch_;
  std::uint64_t committed_steps_ = 0;
  bool is_at_last_commit_ = false;
  int skips_in_a_row_ = 0;
  ViewMembers members_;
  AgreedRounds rounds_;
  LostTokens lost_;
  std::deque<StepTotals> totals_;  // ascending by version, the newest last
  Quarantines quarantines_;
  RequeuedSamples requeued_;
  RunEnds ends_;
  std::optional<std::string> finished_;
};

// The entry without what only its first readers need: a commit's manifests and norms. Old entries travel so.
[[nodiscard]] JournalEntry without_details(JournalEntry entry);

// "commit of step 7", "replica 12 added to stage 0": for logs.
[[nodiscard]] std::string describe(const JournalEntry& entry);

}  // namespace shoal
