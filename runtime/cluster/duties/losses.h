// Removes members that serve no more, and decides when all go back because a stage has nobody left (P-29).
//
//   a member serves no more ──another serves the stage──▶ RemoveReplica
//                           ──it was the last──▶ stage lost ──what could still be saved is, or settle_for is over──▶
//                           thrown back ──▶ a start is looked for, or the run ends: it leads nowhere
//                           (vain_roll_backs.h)
#pragma once

#include <string>

#include "runtime/cluster/truth/truth.h"

namespace shoal {

class LossDuty {
 public:
  // roster: whose replicas ended, and which are being removed.
  LossDuty(const Truth& truth, Roster& roster, Fallback& fallback)
      : truth_(truth), roster_(roster), fallback_(fallback) {}

  [[nodiscard]] Answers on(const StageEnded& ended, Instant now);
  [[nodiscard]] Answers on(const ProcessGone& gone, Instant now);
  [[nodiscard]] Answers on(const MoverGoes& goes, Instant now);
  [[nodiscard]] Answers on(const MembersDue& due, Instant now);
  // Has all go back as if a stage had nobody: no step can be made.
  [[nodiscard]] Answers on(const RunDivided& divided, Instant now);
  [[nodiscard]] Answers on(const LossDue& due, Instant now);
  [[nodiscard]] Answers on(const RollBack& back, Instant now);
  // All members of the branch before are removed.
  [[nodiscard]] Answers on(const BranchBegins& begins, Instant now);
  [[nodiscard]] Answers on(const Commit& commit, Instant now);
  [[nodiscard]] Answers on(const TickCame& tick, Instant now);

 private:
  void lose_stage(StageId stage, const std::string& reason, Instant now, Answers& answers);

  const Truth& truth_;
  Roster& roster_;
  Fallback& fallback_;
};

}  // namespace shoal
