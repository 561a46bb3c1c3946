// Letters and sums of a step, each once.
#include "runtime/plan/resources/step_traffic.h"

#include <algorithm>
#include <cmath>

#include "runtime/sync/reduction.h"
#include "runtime/sync/wire/wire_codec.h"

namespace shoal {
namespace {

// Bytes of a letter beside its tensors: body, frames and shapes, as routers count them on paths of a few stages.
constexpr std::uint64_t kForwardLetterBytes = 296;
constexpr std::uint64_t kBackwardLetterBytes = 280;
constexpr std::uint64_t kAnswerLetterBytes = 256;  // a Backward without a tensor

std::uint64_t as_bytes(double bytes) { return static_cast<std::uint64_t>(std::llround(bytes)); }

BorderTraffic border_traffic(const Config& config) {
  const auto microbatches = static_cast<std::uint64_t>(microbatches_per_step(config));
  const auto tokens =
      static_cast<std::uint64_t>(config.batch.microbatch) * static_cast<std::uint64_t>(config.model.context);
  const double values = static_cast<double>(tokens) * config.model.width;
  const std::uint64_t tensor = as_bytes(values * bits_per_value(config.pipeline.activations) / 8);
  const std::uint64_t targets = tokens * sizeof(std::int32_t);
  return {microbatches * (tensor + targets + kForwardLetterBytes), microbatches * (tensor + kBackwardLetterBytes)};
}

// Spreads a round's bytes over its steps.
double reduce_bytes(const Config& config, const CutStage& stage, std::size_t replicas) {
  if (replicas < 2) return 0;
  if (config.sync.mode == SyncMode::kDiloco) {
    return analytic_bytes(config.sync.wire, stage.parameter_count, replicas) / static_cast<double>(config.sync.H);
  }
  const double plain = analytic_bytes(WireFormat::kFp32, stage.parameter_count, replicas);
  return config.sync.reduction == Reduction::kExact ? 2 * plain : plain;
}

}  // namespace

StepTraffic step_traffic(const Config& config, const std::vector<CutStage>& stages,
                         const std::vector<std::size_t>& replicas) {
  StepTraffic traffic;
  traffic.borders.assign(stages.size() - 1, border_traffic(config));
  traffic.answers = static_cast<std::uint64_t>(microbatches_per_step(config)) * kAnswerLetterBytes;
  traffic.gradient = traffic.answers;
  for (const BorderTraffic& border : traffic.borders) {
    traffic.activation += border.activation;
    traffic.gradient += border.gradient;
  }
  for (std::size_t stage = 0; stage < stages.size(); ++stage) {
    const double sum = reduce_bytes(config, stages[stage], replicas[stage]);
    const double members = static_cast<double>(std::max<std::size_t>(replicas[stage], 1));
    traffic.reduce_per_member.push_back(as_bytes(sum / members));
    traffic.state_copy.push_back(stages[stage].state_bytes);
    traffic.reduce += as_bytes(sum);
  }
  return traffic;
}

}  // namespace shoal
