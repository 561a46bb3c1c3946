// Lets a node leave without anybody's work being lost (`shoal drain`, SIGTERM of a node): it finishes the step, is in
// no plan of the next one, and is removed between the two (P-28a).
//
//   draining ──Commit──▶ RemoveReplica ──▶ EndProcess 0                      while another replica serves the stage
//   draining, the last of its stage ──Commit with a checkpoint, then no further Commit──▶ saved ──▶ EndProcess 0
//
// A free worker begins to copy as soon as somebody leaves; the last of its stage stays until it serves, and so it does
// for a replica that moves there (moves/rebalancing.h). Where nobody comes, the last one takes nothing with it: the run
// goes back to that very checkpoint, as soon as somebody can load it. The wish is kept while members come back to a
// restarted spawner: only then is it known which one is the last. It is the node itself that keeps it: it says Leaving
// again and again, because it got a signal or because it was told to (LeaveRun).
#pragma once

#include <string>
#include <vector>

#include "runtime/cluster/truth/truth.h"

namespace shoal {

// Says to a person what becomes of the processes when they are drained now, together.
[[nodiscard]] std::string fate_when_drained(const Truth& truth, const std::vector<ProcessIncarnation>& processes);

class DrainDuty {
 public:
  DrainDuty(const Truth& truth, Leavers& leavers) : truth_(truth), leavers_(leavers) {}

  [[nodiscard]] Answers on(const Leaving& leaving, Instant now);
  [[nodiscard]] Answers on(const DrainAsked& asked, Instant now);
  [[nodiscard]] Answers on(const DrainExpected& expected, Instant now);
  [[nodiscard]] Answers on(const ProcessJoined& joined, Instant now);
  [[nodiscard]] Answers on(const LinkedAgain& linked, Instant now);
  [[nodiscard]] Answers on(const ProcessGone& gone, Instant now);
  [[nodiscard]] Answers on(const PutOut& out, Instant now);
  // After a commit: a leaver that is in no plan of the next step holds nothing. One that still saves goes later.
  [[nodiscard]] Answers on(const LeaversDue& due, Instant now);
  // After a checkpoint of the last commit: also those whose stage goes on only with it.
  [[nodiscard]] Answers on(const SavedLeaversDue& due, Instant now);
  // Nothing of what they hold is wanted any more.
  [[nodiscard]] Answers on(const AllLeaversDue& due, Instant now);
  [[nodiscard]] Answers on(const LeaverGoes& goes, Instant now);

 private:
  // Returns true for one that works on until it may leave; false: it goes at once, or is leaving already.
  bool begin(ProcessIncarnation process, const std::string& reason, Answers& answers);

  const Truth& truth_;
  Leavers& leavers_;
};

}  // namespace shoal
