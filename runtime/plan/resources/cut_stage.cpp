// Adds up layers, and takes the largest.
#include "runtime/plan/resources/cut_stage.h"

#include <algorithm>
#include <numeric>

#include "runtime/base/compose.h"

namespace shoal {
namespace {

CutStage joined(const std::vector<CutStage>& layers, int first, int count) {
  CutStage stage;
  stage.first_layer = first;
  stage.layer_count = count;
  for (int i = first; i < first + count; ++i) {
    const CutStage& layer = layers[static_cast<std::size_t>(i)];
    stage.has_head = layer.has_head;
    stage.parameter_count += layer.parameter_count;
    stage.state_bytes += layer.state_bytes;
    stage.cost += layer.cost;
    stage.kept_values += layer.kept_values;
    stage.copy_bytes += layer.copy_bytes;
    stage.mask_values += layer.mask_values;
    stage.passing_values = std::max(stage.passing_values, layer.passing_values);
    stage.largest_tensor = std::max(stage.largest_tensor, layer.largest_tensor);
  }
  return stage;
}

bool gives_every_layer(const std::vector<int>& cut, int stages, std::size_t layers) {
  return cut.size() == static_cast<std::size_t>(stages) && std::ranges::all_of(cut, [](int one) { return one >= 1; }) &&
         std::accumulate(cut.begin(), cut.end(), 0) == static_cast<int>(layers);
}

}  // namespace

Result<std::vector<CutStage>> stages_of(const ModelCuts& model, const PipelineConfig& pipeline) {
  const int stages = pipeline.stages;
  const bool is_listed = pipeline.cut == Cut::kListed;
  if (!is_listed && (stages < 1 || static_cast<std::size_t>(stages) > model.by_stages.size())) {
    return fail(Error::kUsage, compose("pipeline.stages = ", stages, ": the model can be cut into 1 to ",
                                       model.by_stages.size(), " stages"));
  }
  const auto& cut = is_listed ? pipeline.cut_listed : model.by_stages[static_cast<std::size_t>(stages) - 1];
  if (!gives_every_layer(cut, stages, model.layers.size())) {
    return fail(Error::kUsage, compose("pipeline.cut: expected the layers of each of ", stages, " stages, ",
                                       model.layers.size(), " in all"));
  }
  std::vector<CutStage> joined_stages;
  int first = 0;
  for (const int count : cut) {
    joined_stages.push_back(joined(model.layers, first, count));
    first += count;
  }
  return joined_stages;
}

}  // namespace shoal
