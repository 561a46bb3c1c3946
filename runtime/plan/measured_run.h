// Measures what a step takes on this system's own machines, from a run's metrics.jsonl.
//
// Medians, so that evaluations, checkpoints and faults do not count. The time without synchronisation is step_ms less
// time.reduce: what the pipeline itself waits for stays in it. A last stage takes both passes at once, and counts them
// as its backward: a run that has no other stage, as one of a single process, tells no forward.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "runtime/base/error.h"

namespace shoal {

struct MeasuredStep {
  double step_s = 0;         // without time.reduce
  double forward_share = 0;  // forward / (forward + backward); of a run of one stage not measured, a third
  double compute_s = 0;      // forward and backward, mean over replicas
  double reduce_s = 0;
  double commit_s = 0;    // agreement, journal and update: time.commit and time.apply, where they are measured
  std::size_t steps = 0;  // measured ones
};

// Takes the file line by line: that of a run of months may be larger than memory.
class StepTimesReader {
 public:
  // Skips a line that is no step, a broken one too.
  void add(std::string_view line);
  // The first tenth of the steps is left out. Errors: kInvalidData when no step has times.
  [[nodiscard]] Result<MeasuredStep> measured() const;

 private:
  struct StepTimes {
    double step_ms = 0;
    double forward_ms = 0;
    double backward_ms = 0;
    double reduce_ms = 0;
    double commit_ms = 0;
  };

  std::vector<StepTimes> steps_;
};

}  // namespace shoal
