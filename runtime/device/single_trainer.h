// The reference run: the whole model in one process, the same executor and the same order as the pipeline.
//
// One call is one step: every microbatch in order, the sum adopted, the common norm clipped, the update applied, or the
// step skipped for everybody's reason (DESIGN.md §4.9). It decides nothing about files, evaluations or signals: launch
// composes those around it. Torch-free header; time is injected and only reported.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "messages/ids.h"
#include "runtime/base/clock.h"
#include "runtime/base/config.h"
#include "runtime/base/error.h"
#include "runtime/data/order.h"
#include "runtime/data/tokens.h"
#include "runtime/executor/stage_executor.h"

namespace shoal {

// Progress of a run between two steps: what a checkpoint's manifest holds.
struct TrainerProgress {
  std::uint64_t steps = 0;            // applied or skipped: the t of the next step
  std::uint64_t optimizer_steps = 0;  // updates: skips do not count
  std::uint64_t tokens_total = 0;
  std::uint64_t skipped_in_a_row = 0;
};

struct StepOutcome {
  StepId step;
  double loss = 0;       // nats per token, before the update
  double grad_norm = 0;  // before clipping
  double learning_rate = 0;
  std::uint64_t token_count = 0;
  std::uint64_t microbatch_count = 0;
  std::optional<std::string> skipped;  // why nothing was applied, naming tensor and microbatch
  double compute_ms = 0;               // forward and backward of all microbatches
  double reduce_ms = 0;                // sum, mean, norms
  double apply_ms = 0;
};

class SingleTrainer {
 public:
  // `executor` holds the whole model (one stage); it, `tokens` and `clock` must outlive this.
  SingleTrainer(const Config& config, StageExecutor& executor, const Tokens& tokens, const Clock& clock,
                TrainerProgress progress = {});

  // Errors: those of Tokens::read(); nothing has changed, and the step may be tried again.
  [[nodiscard]] Result<StepOutcome> step();
  // Errors: kDiverged after ten skipped steps in a row, naming the last reason.
  [[nodiscard]] Status check_progress() const;
  // This microbatch is not trained on: the step is the sum over the others, its mean that sum divided by the tokens of
  // the others, as where it was quarantined.
  void leave_out(StepId step, MicrobatchId microbatch) { left_out_.emplace(step, microbatch); }
  [[nodiscard]] const TrainerProgress& progress() const { return progress_; }

 private:
  [[nodiscard]] Result<StepOutcome> run_microbatches();
  void commit(StepOutcome& outcome);

  Config config_;
  StageExecutor& executor_;
  const Tokens& tokens_;
  const Clock& clock_;
  Order order_;
  TrainerProgress progress_;
  std::string last_skip_;
  std::set<std::pair<StepId, MicrobatchId>> left_out_;
};

}  // namespace shoal
