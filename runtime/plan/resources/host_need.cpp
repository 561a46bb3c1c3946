// Items of memory_need() that lie on the host whatever computes, and what a GPU adds to them.
#include "runtime/plan/resources/host_need.h"

#include <bit>
#include <iomanip>

#include "runtime/base/compose.h"
#include "runtime/plan/resources/memory_need.h"

namespace shoal {
namespace {

constexpr std::uint64_t kGpuProgramBytes = 340'000'000;  // resident memory once torch's part for CUDA is loaded

// A sum of one member, and one that a library makes, stay on the device. Rounds are computed on the host.
[[nodiscard]] bool sums_on_device(const Config& config, std::size_t replicas) {
  const bool has_rounds = config.sync.mode == SyncMode::kDiloco;
  return !has_rounds && (replicas < 2 || config.sync.backend == SyncBackend::kNccl);
}

// Tensors of a microbatch that come from and go to the stages beside it: an activation and a gradient at each border.
[[nodiscard]] std::uint64_t pinned_borders(const Config& config, std::size_t stages, std::size_t stage) {
  const std::uint64_t borders = (stage > 0 ? 1U : 0U) + (stage + 1 < stages ? 1U : 0U);
  const std::uint64_t tensor =
      tokens_of_microbatch(config) * sizeof(float) * static_cast<std::uint64_t>(config.model.width);
  return 2 * borders * std::bit_ceil(tensor);
}

[[nodiscard]] std::string in_gibibytes(std::uint64_t bytes) {
  return compose(std::fixed, std::setprecision(3), static_cast<double>(bytes) / (1024.0 * 1024 * 1024));
}

}  // namespace

HostNeed host_need(const Config& config, const std::vector<CutStage>& stages, std::size_t stage, std::size_t replicas) {
  const MemoryNeed all = memory_need(config, stages, stage, replicas);
  HostNeed need;
  need.state = all.weights + all.optimizer + all.outer;
  need.image = all.image;
  need.letters = all.letters;
  need.pinned = pinned_borders(config, stages.size(), stage);
  need.program = kGpuProgramBytes;
  if (sums_on_device(config, replicas)) return need;
  need.sums = all.rounds + all.reduction;
  // A contribution comes through it, then the sum goes back.
  if (config.sync.mode != SyncMode::kDiloco) need.pinned += std::bit_ceil(all.accumulators);
  return need;
}

std::uint64_t total_bytes(const HostNeed& need) {
  return need.state + need.image + need.letters + need.sums + need.pinned + need.program;
}

std::string parts_of_need(const HostNeed& need) {
  return compose(in_gibibytes(total_bytes(need)), " GiB of the machine's memory: state ", in_gibibytes(need.state),
                 ", image ", in_gibibytes(need.image), ", letters ", in_gibibytes(need.letters), ", sums ",
                 in_gibibytes(need.sums), ", pinned ", in_gibibytes(need.pinned), ", program ",
                 in_gibibytes(need.program));
}

}  // namespace shoal
