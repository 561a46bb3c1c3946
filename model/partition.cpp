// The tensors and figures of each stage of a cut.
#include "model/partition.h"

#include <algorithm>
#include <numeric>

#include "model/precision_memory.h"
#include "model/stage_cuts.h"
#include "runtime/base/compose.h"

namespace shoal {
namespace {

StagePlan make_plan(const ModelConfig& model, int first_layer, int layer_count) {
  StagePlan plan;
  plan.first_layer = first_layer;
  plan.layer_count = layer_count;
  plan.has_embedding = first_layer == 0;
  plan.has_head = first_layer + layer_count == model.layers;
  plan.cost = cost_of_blocks(layer_costs(model), first_layer, first_layer + layer_count);
  for (const LayerSpec& layer : layers_of(model, plan)) {
    for (const PartSpec& part : layer.parts) {
      const auto tensors = tensors_of(part);
      plan.tensors.insert(plan.tensors.end(), tensors.begin(), tensors.end());
      const bool is_bf16 = model.precision == Precision::kBf16;
      if (layer.block) plan.kept_values += static_cast<std::uint64_t>(is_bf16 ? kept_in_bf16(part) : kept_of(part));
    }
  }
  std::sort(plan.tensors.begin(), plan.tensors.end(),
            [](const TensorSpec& a, const TensorSpec& b) { return a.name < b.name; });
  for (const TensorSpec& tensor : plan.tensors)
    plan.parameter_count += static_cast<std::uint64_t>(element_count(tensor));
  return plan;
}

std::vector<StagePlan> plans_of(const ModelConfig& model, const std::vector<int>& cut) {
  std::vector<StagePlan> plans;
  int first_layer = 0;
  for (const int layers : cut) {
    plans.push_back(make_plan(model, first_layer, layers));
    first_layer += layers;
  }
  return plans;
}

std::vector<int> best_cut(const ModelConfig& model, int stages) { return best_cuts(layer_costs(model), stages).back(); }

Status check_stages(const ModelConfig& model, int stages) {
  if (stages >= 1 && stages <= model.layers) return Done{};
  return fail(Error::kUsage,
              compose("pipeline.stages = ", stages, ": a model of ", model.layers, " layers can be cut into 1 to ",
                      model.layers, " stages; lower pipeline.stages or raise model.layers"));
}

Status check_list(const Config& config) {
  const std::vector<int>& layers = config.pipeline.cut_listed;
  const bool are_all = std::accumulate(layers.begin(), layers.end(), 0) == config.model.layers;
  const bool have_each = std::ranges::all_of(layers, [](int count) { return count >= 1; });
  if (are_all && have_each && layers.size() == static_cast<std::size_t>(config.pipeline.stages)) return Done{};
  return fail(Error::kUsage, compose("pipeline.cut: expected the layers of each of ", config.pipeline.stages,
                                     " stages, at least 1 each and ", config.model.layers, " in all"));
}

}  // namespace

std::vector<LayerSpec> layers_of(const ModelConfig& model, const StagePlan& plan) {
  std::vector<LayerSpec> layers = model_layers(model);
  const std::size_t first = plan.has_embedding ? 0 : static_cast<std::size_t>(plan.first_layer) + 1;
  const std::size_t end = static_cast<std::size_t>(plan.first_layer + plan.layer_count) + (plan.has_head ? 2 : 1);
  return {layers.begin() + static_cast<std::ptrdiff_t>(first), layers.begin() + static_cast<std::ptrdiff_t>(end)};
}

Result<std::vector<StagePlan>> partition(const ModelConfig& model, int stages) {
  if (auto status = check_stages(model, stages); !status) return status.failure();
  return plans_of(model, best_cut(model, stages));
}

Result<std::vector<StagePlan>> partition(const Config& config) {
  const PipelineConfig& pipeline = config.pipeline;
  if (auto status = check_stages(config.model, pipeline.stages); !status) return status.failure();
  switch (pipeline.cut) {
    case Cut::kAuto: break;
    case Cut::kEven: return plans_of(config.model, even_cut(config.model.layers, pipeline.stages));
    case Cut::kListed: {
      if (auto status = check_list(config); !status) return status.failure();
      return plans_of(config.model, pipeline.cut_listed);
    }
  }
  return plans_of(config.model, best_cut(config.model, pipeline.stages));
}

std::uint64_t state_bytes(const StagePlan& plan, const Config& config) {
  const SyncConfig& sync = config.sync;
  std::uint64_t copies = config.optim.kind == OptimizerKind::kAdamw ? 3 : 1;
  if (sync.mode == SyncMode::kDiloco) {
    copies += 2;  // outer parameters and momentum
    // Eager updates keep the parameters (`paper`: and the momentum) that go ahead, and the last contribution.
    if (sync.outer_update == OuterUpdate::kEager) copies += sync.eager_variant == EagerVariant::kPaper ? 3 : 2;
  }
  return copies * plan.parameter_count * sizeof(float);
}

StagePlan whole_model(const ModelConfig& model) { return make_plan(model, 0, model.layers); }

}  // namespace shoal
