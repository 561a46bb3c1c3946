// Greedy, slot by slot: stages x replicas is small.
#include "runtime/cluster/placement.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace shoal {

std::optional<std::vector<Placement>> place(std::vector<Worker> workers, std::uint32_t stages, std::uint32_t replicas) {
  if (workers.size() < std::size_t{stages} * replicas) return std::nullopt;
  std::map<std::pair<std::string, std::uint32_t>, int> serves;  // (node, stage) -> replicas
  std::map<std::string, int> used;
  std::vector<Placement> placed;
  for (std::uint32_t slot = 0; slot < replicas; ++slot) {
    for (std::uint32_t stage = 0; stage < stages; ++stage) {
      const auto cost = [&](const Worker& worker) {
        return std::tuple(serves[{worker.node, stage}], used[worker.node], worker.process);
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
