// Commits steps: hears the votes, asks for the commit when nothing is waited for any more, and says what is looked at
// between two steps, and in which order.
//
// Hears everything last, so that a message that may have ended what the next commit waits for has done so. A commit is
// asked for by itself: a vote is judged by the view as it is, not by what is being appended.
#pragma once

#include <optional>

#include "runtime/cluster/step_timer.h"
#include "runtime/cluster/truth/truth.h"

namespace shoal {

class StepDuty {
 public:
  // ballots: those of the step in progress, and the votes for rounds as they come.
  StepDuty(const Truth& truth, Ballots& ballots) : truth_(truth), ballots_(ballots) {}

  [[nodiscard]] Answers on(const TermBegins& begins, Instant now);
  [[nodiscard]] Answers on(const Prepared& vote, Instant now);
  [[nodiscard]] Answers on(const Commit& commit, Instant now);
  [[nodiscard]] Answers on(const CommitRound& committed, Instant now);
  [[nodiscard]] Answers on(const TrainingBegins& begins, Instant now);
  [[nodiscard]] Answers on(const BranchBegins& begins, Instant now);
  [[nodiscard]] Answers on(const StepForgotten& forgotten, Instant now);
  [[nodiscard]] Answers on(const StageReady& ready, Instant now);
  [[nodiscard]] Answers on(const StageEnded& ended, Instant now);
  [[nodiscard]] Answers on(const TickCame& tick, Instant now);
  // The step is committed if nothing is waited for.
  [[nodiscard]] Answers on(const CommitDue& due, Instant now);

 private:
  void commit(Instant now, Answers& answers);
  // Names in the commit the replicas that save its state, if it is to be saved and can be.
  void choose_savers(Commit& commit, std::uint64_t version, Answers& answers) const;

  const Truth& truth_;
  Ballots& ballots_;
  StepTimer timer_;
};

}  // namespace shoal
