// Lets replicas join while the run trains: where they start, when they are added, what is held for them (P-25 .. P-27;
// JoiningReplicas decides when).
//
// A stage that lacks a replica gets one as soon as a worker is free. It copies a member, follows the commits, and is
// added at a version equal to the committed steps and at a digest equal to a member's.
#pragma once

#include <set>

#include "runtime/cluster/number_block.h"
#include "runtime/cluster/recovery/fitting_replacement.h"
#include "runtime/cluster/truth/truth.h"

namespace shoal {

class JoinDuty {
 public:
  JoinDuty(const Truth& truth, JoiningReplicas& joining, ReservedNumbers& numbers)
      : truth_(truth), joining_(joining), numbers_(numbers) {}

  [[nodiscard]] Answers on(const WorkersChanged& changed, Instant now);
  // A member tells which state it has; a joiner, how far it has come.
  [[nodiscard]] Answers on(const ReadyInTraining& told, Instant now);
  [[nodiscard]] Answers on(const StageEnded& ended, Instant now);
  [[nodiscard]] Answers on(const StateProgress& progress, Instant now);
  [[nodiscard]] Answers on(const ProcessGone& gone, Instant now);
  [[nodiscard]] Answers on(const LinkedAgain& linked, Instant now);
  [[nodiscard]] Answers on(const BranchBegins& begins, Instant now);
  [[nodiscard]] Answers on(const TickCame& tick, Instant now);
  // Joiners are placed, and those that are compared are decided on.
  [[nodiscard]] Answers on(const JoinersDue& due, Instant now);

 private:
  [[nodiscard]] ReplacementQuestion question(Instant now) const;
  [[nodiscard]] std::set<StageId> out_of_reach(ProcessIncarnation process, Instant now) const;
  [[nodiscard]] FittingQuestion fitting_question(Instant now) const;
  [[nodiscard]] std::optional<Replacement> next_place(Instant now) const;
  void place(Instant now, Answers& answers);
  void refuse(const FreeWorker& free, Answers& answers);
  void decided(const JoinDecision& decision, Instant now, Answers& answers) const;

  const Truth& truth_;
  JoiningReplicas& joining_;
  ReservedNumbers& numbers_;
  Instant changed_{};                     // when workers came or went last, on the clock of what was watched
  std::set<ProcessIncarnation> refused_;  // living processes that fit no stage, and were told so
};

}  // namespace shoal
