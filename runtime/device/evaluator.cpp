// Adds the windows' losses in order.
#include "runtime/device/evaluator.h"

#include <cmath>
#include <utility>

namespace shoal {

Result<Evaluation> evaluate(StageExecutor& executor, const EvaluationPlan& plan, std::uint64_t batches,
                            const TextBytes& text_bytes) {
  auto evaluation = evaluate_until([](std::uint64_t) { return false; }, executor, plan, batches, text_bytes);
  if (!evaluation) return evaluation.failure();
  return **evaluation;
}

Result<std::optional<Evaluation>> evaluate_until(const WantsStop& wants_stop, StageExecutor& executor,
                                                 const EvaluationPlan& plan, std::uint64_t batches,
                                                 const TextBytes& text_bytes) {
  Evaluation evaluation;
  double loss_sum = 0;
  std::uint64_t bytes = 0;
  std::uint64_t done = 0;
  for (std::uint64_t batch = 0; batch < batches; ++batch) {
    for (std::uint32_t index = 0; index < plan.microbatch_count(batch); ++index) {
      if (wants_stop(done)) return std::optional<Evaluation>();
      const MicrobatchId microbatch{index};
      auto windows = plan.microbatch(batch, microbatch);
      if (!windows) return windows.failure();
      done += static_cast<std::uint64_t>(windows->inputs.shape.front());
      bytes += text_bytes.of(windows->targets);
      const EvaluateResult result =
          executor.evaluate({StepId{0}, microbatch, std::move(windows->inputs), std::move(windows->targets)});
      loss_sum += result.loss_sum;
      evaluation.token_count += result.token_count;
    }
  }
  evaluation.windows = plan.window_count(batches);
  evaluation.loss = loss_sum / static_cast<double>(evaluation.token_count);
  evaluation.perplexity = std::exp(evaluation.loss);
  evaluation.bits_per_byte = bits_per_byte(evaluation.loss, evaluation.token_count, bytes);
  return std::optional(evaluation);
}

}  // namespace shoal
