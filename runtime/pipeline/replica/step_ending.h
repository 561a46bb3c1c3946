// How a step ends: its commit is applied, the rounds that are due after it are waited for, it is reported, saved if the
// commit names this replica, and the next step begins (P-23, P-31).
//
//   StepCommitted ──▶ apply ──StepTrained──▶ (rounds) ──▶ report, StepEnded ──▶ (image for storage) ──▶ NextStep
#pragma once

#include <optional>

#include "messages/journal.h"
#include "messages/metrics.h"
#include "runtime/pipeline/replica/replica_turn.h"

namespace shoal {

class StepEnding {
 public:
  void hear(const FinishRun&, ReplicaTurn&) {}  // the supervisor ends processes; there is nothing to do until it does
  void hear(const StepCommitted& fact, ReplicaTurn& turn);
  void hear(const StepTrained& fact, ReplicaTurn& turn);
  void hear(const BoundaryPassed& fact, ReplicaTurn& turn);
  void hear(const StepEnded& fact, ReplicaTurn& turn);
  // Jobs.
  void hear(const Applied& result, ReplicaTurn& turn);
  void hear(const Imaged& result, ReplicaTurn& turn);

 private:
  void conclude(ReplicaTurn& turn);
  void begin_next(ReplicaTurn& turn);

  std::optional<Commit> applying_;  // until the next step begins
  ReplicaReport report_;            // of that step, until its boundary is behind
};

}  // namespace shoal
