// Reads the cut, the memory's items and the letters of a step.
#include "launch/processes/spawner/stage_sizes.h"

#include "launch/commands/plan/model_cut.h"
#include "runtime/cluster/replicas_wanted.h"
#include "runtime/pipeline/schedule.h"
#include "runtime/plan/resources/device_fit.h"
#include "runtime/plan/resources/host_need.h"
#include "runtime/plan/resources/memory_need.h"
#include "runtime/plan/resources/step_traffic.h"

namespace shoal {
namespace {

void add_letters(StageNeed& need, std::uint64_t up_bytes, std::uint64_t down_bytes) {
  need.up_bytes += static_cast<double>(up_bytes);
  need.down_bytes += static_cast<double>(down_bytes);
}

StageNeed::OnGpu need_on_gpu(const DeviceNeed& need, const DeviceNeed& bounded, const HostNeed& on_host) {
  const std::uint64_t context = need.beside - need.communicator;
  return {bytes_at(need, need.held), context, bytes_at(bounded, bounded.held), total_bytes(on_host), on_host.program};
}

}  // namespace

StageSizes stage_sizes(const Config& config) {
  StageSizes sizes;
  const auto cut = cut_of(config);
  if (!cut) return sizes;
  const double tokens = static_cast<double>(config.batch.microbatch) * config.model.context;
  const ReplicasWanted replicas = replicas_wanted(config.pipeline);
  Config bounded = config;
  bounded.pipeline.credits = static_cast<int>(credits_per_first_replica(config));
  const auto borders = step_traffic(config, *cut, std::vector<std::size_t>(cut->size(), 1)).borders;
  const double microbatches = microbatches_per_step(config);
  for (std::size_t stage = 0; stage < cut->size(); ++stage) {
    const CutStage& one = (*cut)[stage];
    const std::uint32_t wanted = replicas.of(StageId{static_cast<std::uint32_t>(stage)});
    sizes.state_bytes.push_back(one.state_bytes);
    StageNeed need{one.cost * tokens, credit_need(config, *cut, stage, wanted).total_bytes};  // with slow links
    const MemoryNeed of_replica = memory_need(config, *cut, stage, wanted);
    need.shared_bytes = of_replica.program;
    need.bounded_bytes = credit_need(bounded, *cut, stage, wanted).total_bytes;
    need.credits = credits_per_first_replica(config);
    need.on_gpu = need_on_gpu(device_need(config, *cut, stage, wanted), device_need(bounded, *cut, stage, wanted),
                              host_need(config, of_replica, cut->size(), stage, wanted));
    if (stage > 0) add_letters(need, borders[stage - 1].gradient, borders[stage - 1].activation);
    if (stage < borders.size()) add_letters(need, borders[stage].activation, borders[stage].gradient);
    need.up_bytes /= microbatches;
    need.down_bytes /= microbatches;
    sizes.needs.push_back(need);
  }
  return sizes;
}

}  // namespace shoal
