// Memory that comes and goes is rounded up by a twentieth for what lies free between its pieces. Checked against an
// H100: runtime/device/cuda/FACTS.md.
#include "runtime/plan/resources/device_fit.h"

#include <algorithm>

#include "runtime/base/arithmetic/padded_rows.h"
#include "runtime/base/compose.h"
#include "runtime/plan/resources/gibibytes.h"

namespace shoal {
namespace {

constexpr std::uint64_t kFloat32 = sizeof(float);
constexpr std::uint64_t kBf16 = 2;
constexpr std::uint64_t kContextBytes = 800'000'000;  // of the driver and of the libraries' workspaces
constexpr std::uint64_t kDeviceAllocatorDivisor = 20;
constexpr std::uint64_t kPassingVectors = 10;  // bytes per element of a microbatch's border, between two kernels

[[nodiscard]] bool is_bf16(const Config& config) { return config.model.precision == Precision::kBf16; }

[[nodiscard]] std::uint64_t vocabulary(const Config& config) {
  return static_cast<std::uint64_t>(config.model.vocabulary);
}

[[nodiscard]] std::uint64_t head_rows(const Config& config) {
  return static_cast<std::uint64_t>(padded_rows(config.model.vocabulary));
}

// Counts copies in bf16 of every tensor, and the head's with its padding in both models (the trained and the agreed
// one).
[[nodiscard]] std::uint64_t copies_of(const Config& config, const CutStage& stage, std::uint64_t weights) {
  if (!is_bf16(config)) return 0;
  const std::uint64_t flat = weights / 2 * (config.sync.mode == SyncMode::kDiloco ? 2 : 1);
  const std::uint64_t rows = head_rows(config);
  const bool is_padded = stage.has_head && rows != vocabulary(config);
  return flat + (is_padded ? 2 * kBf16 * rows * static_cast<std::uint64_t>(config.model.width) : 0);
}

// Logits of the microbatch that is computed, whose gradient takes their place, and the head's own gradient. Rows that
// kernels do not take as they are exist twice.
[[nodiscard]] std::uint64_t head_bytes(const Config& config, std::uint64_t tokens) {
  const std::uint64_t rows = head_rows(config);
  const std::uint64_t gradient = kFloat32 * rows * static_cast<std::uint64_t>(config.model.width);
  if (is_bf16(config)) return tokens * kBf16 * rows + gradient;
  return tokens * kFloat32 * vocabulary(config) * (vocabulary(config) % 8 == 0 ? 1 : 2) + gradient;
}

// One microbatch's graph, where it is computed again.
[[nodiscard]] std::uint64_t graph_bytes(const Config& config, const CutStage& stage) {
  return config.pipeline.recompute ? tokens_of_microbatch(config) * kFloat32 * stage.kept_values : 0;
}

[[nodiscard]] std::uint64_t bytes_in_flight(const Config& config, const CutStage& stage) {
  const auto width = static_cast<std::uint64_t>(config.model.width);
  return tokens_of_microbatch(config) * kFloat32 * (config.pipeline.recompute ? width : stage.kept_values + width);
}

// A member that stays alone sums by NCCL, too (P-18b), and has nobody to buffer for.
[[nodiscard]] std::uint64_t communicator_bytes(const Config& config, std::size_t replicas) {
  if (config.sync.backend != SyncBackend::kNccl) return 0;
  const bool may_have_two = replicas > 1 || config.pipeline.replicas_max != 1;
  return kLoneCommunicatorBytes + (may_have_two ? kCommunicatorBuffers : 0);
}

}  // namespace

DeviceNeed device_need(const Config& config, const std::vector<CutStage>& stages, std::size_t stage,
                       std::size_t replicas) {
  const MemoryNeed host = memory_need(config, stages, stage, replicas);
  DeviceNeed need;
  need.held = held_microbatches(config, stage, LaterStages::kSlow);  // a device has no memory to lend
  need.per_microbatch = bytes_in_flight(config, stages[stage]);
  const std::uint64_t copies = copies_of(config, stages[stage], host.weights);
  need.communicator = communicator_bytes(config, replicas);
  need.beside = kContextBytes + need.communicator;
  need.kept = host.weights + copies + host.optimizer + host.outer + host.accumulators + host.mean + need.beside;
  const std::uint64_t tokens = tokens_of_microbatch(config);
  const std::uint64_t head = stages[stage].has_head ? head_bytes(config, tokens) : 0;  // before others have gradients
  const std::uint64_t passing = kPassingVectors * tokens * static_cast<std::uint64_t>(config.model.width);
  need.computing = host.letters + passing + graph_bytes(config, stages[stage]) + std::max(head, host.gradients);
  // The sum that comes back, and its mean in double. A round's mean, and own delta, are no larger.
  need.reducing = host.accumulators + 2 * host.mean;
  return need;
}

std::uint64_t bytes_at(const DeviceNeed& need, std::uint64_t held) {
  const std::uint64_t passing = std::max(need.computing + held * need.per_microbatch, need.reducing);
  return need.kept + passing + passing / kDeviceAllocatorDivisor;
}

std::optional<std::string> lack_on_device(const DeviceNeed& need, std::uint64_t free_bytes) {
  if (bytes_at(need, need.held) <= free_bytes) return std::nullopt;
  std::uint64_t fitting = need.held;
  while (fitting > 0 && bytes_at(need, fitting) > free_bytes) --fitting;
  const std::string says = compose("needs ", gibibytes(bytes_at(need, need.held)), " GiB at ", need.held,
                                   need.held == 1 ? " microbatch" : " microbatches", " in flight, the device has ",
                                   gibibytes(free_bytes), " free; ");
  if (fitting > 0) return compose(says, fitting, " would fit: set pipeline.credits, or pipeline.recompute=true");
  return compose(says, "not even one would fit: take more stages, or a smaller batch.microbatch");
}

std::string parts_of_need(const DeviceNeed& need, const MemoryNeed& of_replica) {
  const std::string communicator =
      need.communicator > 0 ? compose(", NCCL's communicator ", exactly(need.communicator)) : std::string();
  const std::string outer = of_replica.outer > 0 ? compose(", outer ", exactly(of_replica.outer)) : std::string();
  return compose(exactly(bytes_at(need, need.held)), " GiB: weights ", exactly(of_replica.weights), ", averages ",
                 exactly(of_replica.optimizer), outer, ", sums ", exactly(of_replica.accumulators), ", mean ",
                 exactly(of_replica.mean), ", context ", exactly(need.beside - need.communicator), communicator,
                 ", in all ", exactly(need.kept), " kept; while it computes ", exactly(need.computing), " (gradients ",
                 exactly(of_replica.gradients), ", letters ", exactly(of_replica.letters), ") and ", need.held, " x ",
                 exactly(need.per_microbatch), " in flight, or ", exactly(need.reducing),
                 " while it reduces; and a twentieth of these");
}

std::string use_text(const DeviceTake& use, const DeviceNeed& need) {
  return compose("at most ", exactly(use.reserved), " GiB used (", exactly(use.tensors), " by tensors), ",
                 exactly(bytes_at(need, need.held) - need.beside), " planned; ", exactly(use.beside), " beside it, ",
                 exactly(need.beside), " planned");
}

}  // namespace shoal
