// Numbers samples by the plan: microbatch i of a step begins with sample i times the size of a microbatch.
#include "runtime/device/microbatch_input.h"

#include <cstdint>

#include "runtime/base/ensure.h"

namespace shoal {

void check_input(const at::Tensor& input, const StagePlan& plan) {
  const bool takes_tokens = plan.has_embedding;
  ENSURE(input.scalar_type() == (takes_tokens ? at::kInt : at::kFloat), "tokens int32, activations float32");
  ENSURE(takes_tokens || input.dim() == 3, "activations are [B,T,C]");
}

std::vector<std::int64_t> border_shape(const Config& config) {
  return {config.batch.microbatch, config.model.context, config.model.width};
}

Tape tape_for(const Config& config, const MicrobatchWork& work, Tape::Keeps keeps) {
  const Dropout dropout{
      .rate = config.model.dropout,
      .seed = config.run.seed,
      .step = work.step.value,
      .first_sample = std::uint64_t{work.microbatch.value} * static_cast<std::uint64_t>(config.batch.microbatch)};
  return Tape(dropout, keeps);
}

}  // namespace shoal
