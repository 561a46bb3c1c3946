// One step after the other, with the decisions that the supervisor takes in a pipeline.
#include "runtime/device/single_trainer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "runtime/base/compose.h"
#include "runtime/data/batch.h"
#include "runtime/journal/commit.h"
#include "runtime/journal/divergence.h"
#include "runtime/journal/learning_rate.h"

namespace shoal {
SingleTrainer::SingleTrainer(const Config& config, StageExecutor& executor, const Tokens& tokens, const Clock& clock,
                             TrainerProgress progress)
    : config_(config),
      executor_(executor),
      tokens_(tokens),
      clock_(clock),
      order_(order_config(config, tokens.split().train)),
      progress_(progress) {}

Result<StepOutcome> SingleTrainer::step() {
  auto computed = run_microbatches();
  if (!computed) return computed;
  StepOutcome& outcome = *computed;
  commit(outcome);
  progress_.steps += 1;
  progress_.tokens_total += outcome.token_count;
  progress_.skipped_in_a_row = outcome.skipped ? progress_.skipped_in_a_row + 1 : 0;
  last_skip_ = outcome.skipped.value_or(std::string());
  return computed;
}

Status SingleTrainer::check_progress() const {
  if (progress_.skipped_in_a_row < kSkipsMax) return Done{};
  return fail(Error::kDiverged, compose("training diverged: ", kSkipsMax, " steps in a row were skipped, the last, ",
                                        progress_.steps - 1, ", because ", last_skip_));
}

Result<StepOutcome> SingleTrainer::run_microbatches() {
  StepOutcome outcome;
  outcome.step = StepId{progress_.steps};
  outcome.learning_rate = learning_rate(config_.optim, progress_.steps);
  const Instant start = clock_.now();
  double loss_sum = 0;
  for (std::uint32_t index = 0; index < order_.microbatches_per_step(); ++index) {
    const MicrobatchId microbatch{index};
    if (left_out_.contains({outcome.step, microbatch})) continue;
    ++outcome.microbatch_count;
    auto batch = make_microbatch(tokens_, order_, outcome.step, microbatch);
    if (!batch) {
      executor_.zero();
      return batch.failure();
    }
    const BackwardResult result = executor_.forward_backward(
        {outcome.step, microbatch, std::move(batch->inputs), std::move(batch->targets)}, WeightGradients::kAtOnce);
    loss_sum += result.loss_sum;
    outcome.token_count += result.token_count;
    const AccumulateResult accumulated = executor_.accumulate(microbatch);
    if (accumulated.bad_tensor && !outcome.skipped) {
      outcome.skipped = compose("the gradient of ", *accumulated.bad_tensor, " in microbatch ", index,
                                " is not finite or out of range");
    }
  }
  outcome.loss = loss_sum / static_cast<double>(outcome.token_count);
  outcome.compute_ms = milliseconds(clock_.now() - start);
  return outcome;
}

void SingleTrainer::commit(StepOutcome& outcome) {
  const Instant start = clock_.now();
  const ReducedSum reduced = executor_.adopt_sum(executor_.contribution(), outcome.token_count);
  outcome.grad_norm = gradient_norm_of(reduced.norms);
  if (!outcome.skipped && !std::isfinite(outcome.grad_norm)) outcome.skipped = "the gradient's norm is not finite";
  const Instant reduced_at = clock_.now();
  outcome.reduce_ms = milliseconds(reduced_at - start);
  if (outcome.skipped) {
    executor_.skip();
  } else {
    progress_.optimizer_steps += 1;
    const double clip_scale = clip_scale_of(config_.optim.clip_norm, outcome.grad_norm);
    executor_.apply({outcome.learning_rate, clip_scale, progress_.optimizer_steps});
  }
  outcome.apply_ms = milliseconds(clock_.now() - reduced_at);
}

}  // namespace shoal
