// Lets a worker that serves several stages give one up, once another worker serves it, too (P-28c).
//
//   a stage has more than it should, by a worker with several ──▶ the data loader avoids that member
//       ──Commit──▶ RemoveReplica; its process stays ──▶ the next one
//
// It goes between two steps, as a leaver does, and not while it is saving: no microbatch is lost.
#pragma once

#include "runtime/cluster/truth/truth.h"

namespace shoal {

class GivingWayDuty {
 public:
  // roster: who gives way, and who is being removed.
  GivingWayDuty(const Truth& truth, Roster& roster) : truth_(truth), roster_(roster) {}

  [[nodiscard]] Answers on(const TickCame& tick, Instant now);
  [[nodiscard]] Answers on(const LeaversDue& due, Instant now);

 private:
  void choose(Answers& answers);

  const Truth& truth_;
  Roster& roster_;
};

}  // namespace shoal
