// Adds the windows' losses in order.
#include "runtime/device/evaluator.h"

#include <cmath>
#include <utility>

namespace shoal {

Evaluation evaluate(StageExecutor& executor, const EvaluationPlan& plan, std::uint64_t batches,
                    const Tokenizer& tokenizer) {
  return *evaluate_until([] { return false; }, executor, plan, batches, tokenizer);
}

std::optional<Evaluation> evaluate_until(const WantsStop& wants_stop, StageExecutor& executor,
                                         const EvaluationPlan& plan, std::uint64_t batches,
                                         const Tokenizer& tokenizer) {
  Evaluation evaluation;
  double loss_sum = 0;
  for (std::uint64_t batch = 0; batch < batches; ++batch) {
    for (std::uint32_t index = 0; index < plan.microbatch_count(batch); ++index) {
      if (wants_stop()) return std::nullopt;
      const MicrobatchId microbatch{index};
      Microbatch windows = plan.microbatch(batch, microbatch);
      const EvaluateResult result =
          executor.evaluate({StepId{0}, microbatch, std::move(windows.inputs), std::move(windows.targets)});
      loss_sum += result.loss_sum;
      evaluation.token_count += result.token_count;
    }
  }
  evaluation.loss = loss_sum / static_cast<double>(evaluation.token_count);
  evaluation.perplexity = std::exp(evaluation.loss);
  evaluation.bits_per_byte =
      bits_per_byte(evaluation.loss, evaluation.token_count, plan.target_bytes(batches, tokenizer));
  return evaluation;
}

}  // namespace shoal
