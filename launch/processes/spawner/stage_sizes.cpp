// Reads the cut and the memory's items.
#include "launch/processes/spawner/stage_sizes.h"

#include "launch/commands/plan/model_cut.h"
#include "runtime/cluster/replicas_wanted.h"
#include "runtime/plan/resources/memory_need.h"

namespace shoal {

StageSizes stage_sizes(const Config& config) {
  StageSizes sizes;
  const auto cut = cut_of(config);
  if (!cut) return sizes;
  const double tokens = static_cast<double>(config.batch.microbatch) * config.model.context;
  const ReplicasWanted replicas = replicas_wanted(config.pipeline);
  for (std::size_t stage = 0; stage < cut->size(); ++stage) {
    const CutStage& one = (*cut)[stage];
    const std::uint32_t wanted = replicas.of(StageId{static_cast<std::uint32_t>(stage)});
    sizes.state_bytes.push_back(one.state_bytes);
    const std::uint64_t most = credit_need(config, *cut, stage, wanted).total_bytes;  // slow links make it hold them
    sizes.needs.push_back({one.cost * tokens, most, memory_need(config, *cut, stage, wanted).program});
  }
  return sizes;
}

}  // namespace shoal
