// From a commit to the next step.
#include "runtime/pipeline/replica/step_ending.h"

#include <algorithm>
#include <utility>

namespace shoal {

void StepEnding::hear(const StepCommitted& fact, ReplicaTurn& turn) {
  applying_ = fact.commit;
  turn.run(ApplyJob{fact.update}, Activity::kApply);
}

void StepEnding::hear(const Applied& result, ReplicaTurn& turn) {
  turn.tell(StepApplied{result.state_digest, *applying_});
}

// Its times end with the apply, as those of the next step begin there.
void StepEnding::hear(const StepTrained& fact, ReplicaTurn& turn) {
  const ReplicaStanding& self = turn.replica();
  report_ = {self.setup.branch, StepId{self.state.version}, self.setup.stage, self.setup.self, {}, {}, 0, 0, 0, {}};
  report_.time = turn.take_time();
  report_.microbatches = fact.microbatches;
  report_.retried = fact.retried;
  report_.passes = fact.passes;
  if (!self.has_rounds()) conclude(turn);
}

void StepEnding::hear(const BoundaryPassed&, ReplicaTurn& turn) {
  if (applying_) conclude(turn);
}

// After the boundary: the bytes of its rounds belong to the step before it, and the digest is what all agree on then.
void StepEnding::conclude(ReplicaTurn& turn) {
  report_.state_digest = turn.replica().state.digest;
  turn.send(to_metrics(), std::move(report_));
  turn.tell(StepEnded{*applying_});
}

void StepEnding::hear(const StepEnded& fact, ReplicaTurn& turn) {
  const auto& savers = fact.commit.checkpoint_by;
  const bool saves = std::find(savers.begin(), savers.end(), turn.replica().setup.self) != savers.end();
  if (saves) return turn.run(ImageJob{}, Activity::kApply);
  begin_next(turn);
}

void StepEnding::hear(const Imaged&, ReplicaTurn& turn) {
  if (applying_) begin_next(turn);
}

void StepEnding::begin_next(ReplicaTurn& turn) {
  applying_.reset();
  turn.tell(NextStep{});
}

}  // namespace shoal
