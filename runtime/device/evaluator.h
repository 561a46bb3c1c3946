// The loss of a model over validation windows, and what it means per byte. Torch-free.
// The order of additions is fixed, so that an evaluation repeated gives the same bits.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "runtime/base/config.h"
#include "runtime/data/batch.h"
#include "runtime/executor/stage_executor.h"

namespace shoal {

struct Evaluation {
  double loss = 0;  // nats per token
  double perplexity = 0;
  double bits_per_byte = 0;
  std::uint64_t token_count = 0;
  std::uint64_t windows = 0;
};

// Over the first `batches` batches of the plan (plan.batch_count(limit) of them). `executor` holds the whole model. The
// sums are added per microbatch in order, in double. Errors: those of Tokens::read().
[[nodiscard]] Result<Evaluation> evaluate(StageExecutor& executor, const EvaluationPlan& plan, std::uint64_t batches,
                                          const TextBytes& text_bytes);

// The same as long as nobody wants it to stop: asked before every microbatch, with the windows that are done. Nothing
// when it was stopped.
using WantsStop = std::function<bool(std::uint64_t windows)>;
[[nodiscard]] Result<std::optional<Evaluation>> evaluate_until(const WantsStop& wants_stop, StageExecutor& executor,
                                                               const EvaluationPlan& plan, std::uint64_t batches,
                                                               const TextBytes& text_bytes);

}  // namespace shoal
