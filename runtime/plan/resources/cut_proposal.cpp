// Dynamic programming over stages and layers.
#include "runtime/plan/resources/cut_proposal.h"

#include <algorithm>
#include <limits>

#include "runtime/base/ensure.h"

namespace shoal {

std::vector<int> cut_for(const std::vector<double>& layer_costs, const std::vector<double>& speeds) {
  const std::size_t layers = layer_costs.size();
  const std::size_t stages = speeds.size();
  ENSURE(stages > 0 && layers >= stages, "there is a layer for each stage");
  // slowest[s][e]: time of the slowest of s stages over layers [0, e), at best; from[s][e]: where the last one begins.
  std::vector<std::vector<double>> slowest(stages + 1,
                                           std::vector<double>(layers + 1, std::numeric_limits<double>::infinity()));
  std::vector<std::vector<std::size_t>> from(stages + 1, std::vector<std::size_t>(layers + 1, 0));
  slowest[0][0] = 0;
  for (std::size_t s = 1; s <= stages; ++s) {
    for (std::size_t end = s; end <= layers; ++end) {
      double cost = 0;
      for (std::size_t begin = end; begin-- > s - 1;) {
        cost += layer_costs[begin];
        const double time = std::max(slowest[s - 1][begin], cost / speeds[s - 1]);
        if (time <= slowest[s][end]) {
          slowest[s][end] = time;
          from[s][end] = begin;
        }
      }
    }
  }
  std::vector<int> counts(stages);
  std::size_t end = layers;
  for (std::size_t s = stages; s > 0; --s) {
    counts[s - 1] = static_cast<int>(end - from[s][end]);
    end = from[s][end];
  }
  return counts;
}

}  // namespace shoal
