// Greedy, slot by slot: stages x replicas is small.
#include "runtime/cluster/placement.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace shoal {

std::optional<std::vector<Placement>> place(std::vector<Worker> workers, std::uint32_t stages,
                                            const ReplicasWanted& replicas) {
  if (workers.size() < replicas.total(stages)) return std::nullopt;
  std::map<std::pair<std::string, std::uint32_t>, int> serves;  // (node, stage) -> replicas
  std::map<std::string, int> used;
  std::vector<Placement> placed;
  for (std::uint32_t slot = 0; slot < replicas.most(); ++slot) {
    for (std::uint32_t stage = 0; stage < stages; ++stage) {
      if (slot >= replicas.of(StageId{stage})) continue;
      const auto cost = [&](const Worker& worker) {
        return std::tuple(worker.choice, serves[{worker.node, stage}], used[worker.node], worker.process);
      };
      const auto best = std::min_element(workers.begin(), workers.end(),
                                         [&](const Worker& a, const Worker& b) { return cost(a) < cost(b); });
      ++serves[{best->node, stage}];
      ++used[best->node];
      placed.push_back({StageId{stage}, ReplicaId{slot}, best->process});
      workers.erase(best);
    }
  }
  return placed;
}

}  // namespace shoal
