// Follows the checkpoints of a run: which is ordered, how far it is, what becomes of one that is lost on its way
// (P-29a; CheckpointTracker decides).
//
// A checkpoint that was lost is asked for again: of the next commit, or, the last one, of its holders. A last
// checkpoint that cannot be saved ends the run as a failure.
#pragma once

#include "runtime/cluster/truth/truth.h"

namespace shoal {

class CheckpointDuty {
 public:
  CheckpointDuty(const Truth& truth, CheckpointTracker& tracker) : truth_(truth), tracker_(tracker) {}

  [[nodiscard]] Answers on(const Commit& commit, Instant now);
  [[nodiscard]] Answers on(const CheckpointSaved& saved, Instant now);
  [[nodiscard]] Answers on(const CheckpointFailed& failed, Instant now);
  [[nodiscard]] Answers on(const StateProgress& progress, Instant now);
  [[nodiscard]] Answers on(const StateUnavailable& lost, Instant now);  // a shard, with its link
  [[nodiscard]] Answers on(const CheckpointDelayed& delayed, Instant now);
  [[nodiscard]] Answers on(const CheckpointWanted& wanted, Instant now);
  [[nodiscard]] Answers on(const LastStateUnsaved& unsaved, Instant now);
  // Saves what is committed before all go back: everybody reaches storage.
  [[nodiscard]] Answers on(const RunDivided& divided, Instant now);
  [[nodiscard]] Answers on(const ProcessGone& gone, Instant now);
  [[nodiscard]] Answers on(const MemberLost& lost, Instant now);
  [[nodiscard]] Answers on(const BranchBegins& begins, Instant now);
  [[nodiscard]] Answers on(const ReturnBegins& begins, Instant now);
  [[nodiscard]] Answers on(const EndsAgain& again, Instant now);
  [[nodiscard]] Answers on(const TickCame& tick, Instant now);

 private:
  void ask_again(std::uint64_t version, Answers& answers);
  [[nodiscard]] EndOfRun last_one_failed(const std::string& reason) const;

  const Truth& truth_;
  CheckpointTracker& tracker_;
};

}  // namespace shoal
