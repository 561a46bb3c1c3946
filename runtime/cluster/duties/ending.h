// Knows which step is the last one and what is awaited after it, and ends the run: what is told, who ends when.
//
//   training ──a stop, the target, divergence──▶ last step committed ──saved, evaluated──▶ FinishRun ──▶ ending
//            ──a stop without a text or a way between replicas, a journal that refuses: the step is dropped──▶ saved
//              ──▶ ending
//            ──it cannot go on──▶ ending
//   ending ──all have ended──▶ over
//
// A failed run stays failed, with its first reason. A run that hands over ends this process alone.
#pragma once

#include "runtime/base/time/progress_watch.h"
#include "runtime/cluster/truth/truth.h"

namespace shoal {

class EndingDuty {
 public:
  EndingDuty(const Truth& truth, Ending& ending) : truth_(truth), ending_(ending) {}

  [[nodiscard]] Answers on(const StopAsked& stop, Instant now);
  [[nodiscard]] Answers on(const EndsAfterStep& ends, Instant now);
  [[nodiscard]] Answers on(const EvaluationResult& result, Instant now);
  [[nodiscard]] Answers on(const TrainingBegins& begins, Instant now);
  [[nodiscard]] Answers on(const BranchBegins& begins, Instant now);
  [[nodiscard]] Answers on(const Commit& commit, Instant now);
  [[nodiscard]] Answers on(const TickCame& tick, Instant now);
  // The run ends if nothing more is awaited.
  [[nodiscard]] Answers on(const EndDue& due, Instant now);
  // Once it is ending: storage goes after the nodes, this process last.
  [[nodiscard]] Answers on(const DismissalDue& due, Instant now);
  [[nodiscard]] Answers on(const EndOfRun& end, Instant now);
  [[nodiscard]] Answers on(const EndsAgain& again, Instant now);
  [[nodiscard]] Answers on(const HandsOver& hands_over, Instant now);
  [[nodiscard]] Answers on(const JournalFailed& failed, Instant now);

 private:
  // Returns why a stopped run cannot make its last step.
  [[nodiscard]] std::optional<std::string> lack_of_step(Instant now) const;
  // True when the state after the newest commit is to be saved before a journal that refuses ends the run.
  [[nodiscard]] bool can_save_first() const;
  void tell_end(const EndOfRun& end, Instant now, Answers& answers);
  void dismiss(ProcessRole role, Answers& answers) const;

  const Truth& truth_;
  Ending& ending_;
  ProgressWatch evaluation_{Instant{}};  // of the state after the newest commit
};

}  // namespace shoal
