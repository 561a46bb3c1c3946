// Items of memory_need() that lie on the host whatever computes, and what a GPU adds to them.
#include "runtime/plan/resources/host_need.h"

#include <bit>

#include "runtime/base/compose.h"
#include "runtime/plan/resources/gibibytes.h"

namespace shoal {
namespace {

constexpr std::uint64_t kGpuProgramBytes = 340'000'000;  // resident memory once torch's part for CUDA is loaded

// A sum of one member, and one that a library makes, stay on the device. Sums of rounds are made on the host.
[[nodiscard]] bool sums_on_device(const Config& config, std::size_t replicas) {
  const bool has_rounds = config.sync.mode == SyncMode::kDiloco;
  return !has_rounds && (replicas < 2 || config.sync.backend == SyncBackend::kNccl);
}

// Tensors of a microbatch that come from and go to the stages beside it: an activation and a gradient at each border.
[[nodiscard]] std::uint64_t pinned_borders(const Config& config, std::size_t stages, std::size_t stage) {
  return 2 * borders_of(stages, stage) * std::bit_ceil(border_bytes(config));
}

}  // namespace

HostNeed host_need(const Config& config, const MemoryNeed& of_replica, std::size_t stages, std::size_t stage,
                   std::size_t replicas) {
  HostNeed need;
  need.state = of_replica.weights + of_replica.optimizer + of_replica.outer;
  need.image = of_replica.image;
  need.letters = of_replica.letters;
  need.pinned = pinned_borders(config, stages, stage);
  need.program = kGpuProgramBytes;
  if (sums_on_device(config, replicas)) return need;
  need.sums = of_replica.rounds + of_replica.reduction;
  // A contribution comes through it, then the sum goes back.
  const bool has_rounds = config.sync.mode == SyncMode::kDiloco;
  need.pinned += std::bit_ceil(has_rounds ? of_replica.contribution : of_replica.accumulators);
  return need;
}

std::uint64_t total_bytes(const HostNeed& need) {
  return need.state + need.image + need.letters + need.sums + need.pinned + need.program;
}

std::string parts_of_need(const HostNeed& need) {
  return compose(exactly(total_bytes(need)), " GiB of the machine's memory: state ", exactly(need.state), ", image ",
                 exactly(need.image), ", letters ", exactly(need.letters), ", sums ", exactly(need.sums), ", pinned ",
                 exactly(need.pinned), ", program ", exactly(need.program));
}

}  // namespace shoal
