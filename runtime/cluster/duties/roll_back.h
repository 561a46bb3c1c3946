// Takes all stages back to a checkpoint, together (P-29): a new branch, new incarnations of every stage actor and sync
// group. Also every other start: from the configuration's state, or of a run whose members are gone.
//
//   a start is wanted ──FindCheckpoint──▶ found ──▶ the branch begins, all gather
//        ▲                 │ the disk refuses: again, after a pause   │ nobody could start from it: again, a few times
//        └─────────────────┴──────────────────────────────────────────┘
//                          │ one was saved, and none is there: again, without end
//
// The answer may come much later (start_search.h). Until then members of the old branch stay, who joins is let in and
// waits, who dies is given up, a checkpoint that is under way may still be saved, and a stop ends the run.
//
// Nobody is told to go: a member ends when it reads its RemoveReplica, one that still starts by EndStage. The journal
// makes every step of it safe to be interrupted: a start that finds no members begins the same branch again.
#pragma once

#include <optional>

#include "runtime/cluster/truth/truth.h"

namespace shoal {

class RollBackDuty {
 public:
  RollBackDuty(const Truth& truth, StartSearch& search) : truth_(truth), search_(search) {}

  [[nodiscard]] Answers on(const StartWanted& start, Instant now);
  [[nodiscard]] Answers on(const StartFound& found, Instant now);
  [[nodiscard]] Answers on(const StartNotFound& not_found, Instant now);
  // Storage may have removed the checkpoint since it was chosen (checkpoint.keep): one that came to its end late took
  // its place. Who starts from that one has lost nothing.
  [[nodiscard]] Answers on(const StartFailed& failed, Instant now);
  [[nodiscard]] Answers on(const StartOver& over, Instant now);
  [[nodiscard]] Answers on(const BranchBegun& begun, Instant now);
  [[nodiscard]] Answers on(const StartRepeated& repeated, Instant now);
  [[nodiscard]] Answers on(const TrainingBegins& begins, Instant now);
  [[nodiscard]] Answers on(const TickCame& tick, Instant now);

 private:
  [[nodiscard]] bool take_answer(std::uint64_t look);
  [[nodiscard]] bool is_outdated(const StartPoint& found) const;

  const Truth& truth_;
  StartSearch& search_;
  std::optional<StartInVain> in_vain_;  // since a run has trained
};

}  // namespace shoal
