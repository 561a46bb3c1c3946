// The cut by dynamic programming over stages and blocks.
#include "model/stage_cuts.h"

#include <algorithm>
#include <limits>

#include "model/layer_list.h"
#include "runtime/base/ensure.h"

namespace shoal {

std::vector<double> layer_costs(const ModelConfig& model) {
  std::vector<double> costs;
  for (const LayerSpec& layer : model_layers(model)) {
    double& cost = costs.emplace_back(0);
    for (const PartSpec& part : layer.parts) cost += cost_of(part);
  }
  return costs;
}

double cost_of_blocks(const std::vector<double>& costs, int first, int end) {
  const int blocks = static_cast<int>(costs.size()) - 2;
  double cost = 0;
  for (int block = first; block < end; ++block) cost += costs[static_cast<std::size_t>(block) + 1];
  if (first == 0) cost += costs.front();
  if (end == blocks) cost += costs.back();
  return cost;
}

std::vector<std::vector<int>> best_cuts(const std::vector<double>& costs, int stages) {
  ENSURE(stages >= 1 && costs.size() >= static_cast<std::size_t>(stages) + 2, "there is a block for each stage");
  const std::size_t blocks = costs.size() - 2;
  const auto rows = static_cast<std::size_t>(stages) + 1;
  // least[s][e]: the dearest of s stages over blocks [0, e), at best; from[s][e]: where the last of them begins.
  std::vector<std::vector<double>> least(rows,
                                         std::vector<double>(blocks + 1, std::numeric_limits<double>::infinity()));
  std::vector<std::vector<std::size_t>> from(rows, std::vector<std::size_t>(blocks + 1, 0));
  least[0][0] = 0;
  std::vector<double> before(blocks + 1, 0);  // the cost of all blocks before each
  for (std::size_t block = 0; block < blocks; ++block) before[block + 1] = before[block] + costs[block + 1];
  for (std::size_t s = 1; s < rows; ++s) {
    for (std::size_t end = s; end <= blocks; ++end) {
      for (std::size_t begin = s - 1; begin < end; ++begin) {
        const double ends = (begin == 0 ? costs.front() : 0) + (end == blocks ? costs.back() : 0);
        const double own = before[end] - before[begin] + ends;
        const double dearest = std::max(least[s - 1][begin], own);
        if (dearest < least[s][end]) {
          least[s][end] = dearest;
          from[s][end] = begin;
        }
      }
    }
  }
  std::vector<std::vector<int>> cuts;
  for (std::size_t count = 1; count < rows; ++count) {
    std::vector<int>& cut = cuts.emplace_back(count);
    std::size_t end = blocks;
    for (std::size_t s = count; s > 0; --s) {
      cut[s - 1] = static_cast<int>(end - from[s][end]);
      end = from[s][end];
    }
  }
  return cuts;
}

std::vector<int> even_cut(int blocks, int stages) {
  std::vector<int> cut;
  for (int stage = 0; stage < stages; ++stage) cut.push_back(blocks / stages + (stage < blocks % stages ? 1 : 0));
  return cut;
}

std::vector<std::vector<int>> cuts_by_stages(const Config& config) {
  const PipelineConfig& pipeline = config.pipeline;
  const int blocks = config.model.layers;
  if (pipeline.cut == Cut::kEven) {
    std::vector<std::vector<int>> cuts;
    for (int stages = 1; stages <= blocks; ++stages) cuts.push_back(even_cut(blocks, stages));
    return cuts;
  }
  auto cuts = best_cuts(layer_costs(config.model), blocks);
  const std::size_t listed = pipeline.cut == Cut::kListed ? pipeline.cut_listed.size() : 0;
  if (listed > 0 && listed <= cuts.size()) cuts[listed - 1] = pipeline.cut_listed;
  return cuts;
}

}  // namespace shoal
