// What comes and goes is rounded up by a tenth for what lies free between its pieces, as on the host.
#include "runtime/plan/resources/device_fit.h"

#include <algorithm>
#include <iomanip>

#include "runtime/base/compose.h"

namespace shoal {
namespace {

constexpr std::uint64_t kFloat = sizeof(float);
constexpr std::uint64_t kContextBytes = 600'000'000;  // of the driver and of the libraries' workspaces, by their pages
constexpr std::uint64_t kAllocatorDivisor = 10;

[[nodiscard]] std::string gibibytes(std::uint64_t bytes, int digits = 1) {
  return compose(std::fixed, std::setprecision(digits), static_cast<double>(bytes) / (1024.0 * 1024 * 1024));
}
[[nodiscard]] std::string exactly(std::uint64_t bytes) { return gibibytes(bytes, 3); }

[[nodiscard]] std::uint64_t bytes_in_flight(const Config& config, const CutStage& stage) {
  const auto width = static_cast<std::uint64_t>(config.model.width);
  const auto tokens =
      static_cast<std::uint64_t>(config.batch.microbatch) * static_cast<std::uint64_t>(config.model.context);
  return tokens * kFloat * (config.pipeline.recompute ? width : stage.kept_values + width);
}

}  // namespace

DeviceNeed device_need(const Config& config, const std::vector<CutStage>& stages, std::size_t stage,
                       std::size_t replicas) {
  const MemoryNeed host = memory_need(config, stages, stage, replicas);
  const std::uint64_t agreed = config.sync.mode == SyncMode::kDiloco ? host.weights : 0;
  DeviceNeed need;
  need.held = held_microbatches(config, stage);
  need.per_microbatch = bytes_in_flight(config, stages[stage]);
  need.kept = host.weights + host.optimizer + agreed + host.accumulators + host.mean + kContextBytes;
  const std::uint64_t of_flight = need.per_microbatch * need.held;
  need.computing = host.gradients + host.letters + host.activations - std::min(of_flight, host.activations);
  need.reducing = host.accumulators + 2 * host.mean;  // the sum that comes back, and its mean in double
  return need;
}

std::uint64_t bytes_at(const DeviceNeed& need, std::uint64_t held) {
  const std::uint64_t passing = std::max(need.computing + held * need.per_microbatch, need.reducing);
  return need.kept + passing + passing / kAllocatorDivisor;
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
  return compose(exactly(bytes_at(need, need.held)), " GiB: weights ", exactly(of_replica.weights), ", averages ",
                 exactly(of_replica.optimizer), ", sums ", exactly(of_replica.accumulators), ", mean ",
                 exactly(of_replica.mean), ", context ", exactly(kContextBytes), ", in all ", exactly(need.kept),
                 " kept; while it computes ", exactly(need.computing), " (gradients ", exactly(of_replica.gradients),
                 ", letters ", exactly(of_replica.letters), ") and ", need.held, " x ", exactly(need.per_microbatch),
                 " in flight, or ", exactly(need.reducing), " while it reduces; and a tenth of these");
}

std::string use_text(const DeviceUse& use, const DeviceNeed& need) {
  return compose("at most ", exactly(use.reserved), " GiB used (", exactly(use.tensors), " by tensors), ",
                 exactly(bytes_at(need, need.held) - std::min(need.kept, kContextBytes)), " planned; ",
                 exactly(use.beside), " beside it, ", exactly(kContextBytes), " planned");
}

}  // namespace shoal
