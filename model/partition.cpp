// Costs of layers, embedding and head, and the cut by dynamic programming over stages and layers.
#include "model/partition.h"

#include <algorithm>
#include <limits>

#include "runtime/base/compose.h"

namespace shoal {
namespace {

// Cost of a table look-up, a normalisation or an exponential, if a multiply-add of a matrix product costs 1: they are
// bound by memory and by transcendental functions. Measured roughly; the cut needs proportions only.
constexpr double kElementCost = 12;

double layer_cost(const ModelConfig& model) {
  const double width = model.width;
  const double products = 12 * width * width + width * model.context;  // the causal half of both attention products
  const double elements = 14 * width + 0.5 * model.heads * model.context;
  return products + kElementCost * elements;
}

double embedding_cost(const ModelConfig& model) { return kElementCost * 2 * model.width; }

double head_cost(const ModelConfig& model) {
  const double width = model.width;
  return width * model.vocabulary + kElementCost * (3.0 * model.vocabulary + 2 * width);
}

void add_layer(const ModelConfig& model, int layer, std::vector<TensorSpec>& tensors) {
  const std::int64_t width = model.width;
  const std::string prefix = "h." + std::to_string(layer) + ".";
  const std::int64_t hidden = 4 * width;
  const std::vector<TensorSpec> parts = {{"ln_1.weight", {width}},
                                         {"ln_1.bias", {width}},
                                         {"ln_2.weight", {width}},
                                         {"ln_2.bias", {width}},
                                         {"attn.c_attn.weight", {width, 3 * width}},
                                         {"attn.c_attn.bias", {3 * width}},
                                         {"attn.c_proj.weight", {width, width}},
                                         {"attn.c_proj.bias", {width}},
                                         {"mlp.c_fc.weight", {width, hidden}},
                                         {"mlp.c_fc.bias", {hidden}},
                                         {"mlp.c_proj.weight", {hidden, width}},
                                         {"mlp.c_proj.bias", {width}}};
  for (const TensorSpec& part : parts) tensors.push_back({prefix + part.name, part.shape});
}

StagePlan make_plan(const ModelConfig& model, int first_layer, int layer_count) {
  StagePlan plan;
  plan.first_layer = first_layer;
  plan.layer_count = layer_count;
  plan.has_embedding = first_layer == 0;
  plan.has_head = first_layer + layer_count == model.layers;
  plan.cost = layer_count * layer_cost(model);
  const std::int64_t width = model.width;
  if (plan.has_embedding) {
    plan.tensors.push_back({"wte.weight", {model.vocabulary, width}});
    plan.tensors.push_back({"wpe.weight", {model.context, width}});
    plan.cost += embedding_cost(model);
  }
  for (int layer = first_layer; layer < first_layer + layer_count; ++layer) add_layer(model, layer, plan.tensors);
  if (plan.has_head) {
    plan.tensors.push_back({"ln_f.weight", {width}});
    plan.tensors.push_back({"ln_f.bias", {width}});
    plan.tensors.push_back({"lm_head.weight", {model.vocabulary, width}});
    plan.cost += head_cost(model);
  }
  std::sort(plan.tensors.begin(), plan.tensors.end(),
            [](const TensorSpec& a, const TensorSpec& b) { return a.name < b.name; });
  for (const TensorSpec& tensor : plan.tensors)
    plan.parameter_count += static_cast<std::uint64_t>(element_count(tensor));
  return plan;
}

double cost_of(const ModelConfig& model, int first_layer, int end_layer) {
  double cost = (end_layer - first_layer) * layer_cost(model);
  if (first_layer == 0) cost += embedding_cost(model);
  if (end_layer == model.layers) cost += head_cost(model);
  return cost;
}

// least[s][e]: the dearest of s stages over layers [0, e), at best; from[s][e]: where the last of them begins.
std::vector<int> best_boundaries(const ModelConfig& model, int stages) {
  const auto rows = static_cast<std::size_t>(stages) + 1;
  const auto columns = static_cast<std::size_t>(model.layers) + 1;
  std::vector<std::vector<double>> least(rows, std::vector<double>(columns, std::numeric_limits<double>::infinity()));
  std::vector<std::vector<int>> from(rows, std::vector<int>(columns, 0));
  least[0][0] = 0;
  for (std::size_t s = 1; s < rows; ++s) {
    for (std::size_t end = s; end < columns; ++end) {
      for (std::size_t begin = s - 1; begin < end; ++begin) {
        const double own = cost_of(model, static_cast<int>(begin), static_cast<int>(end));
        const double dearest = std::max(least[s - 1][begin], own);
        if (dearest < least[s][end]) {
          least[s][end] = dearest;
          from[s][end] = static_cast<int>(begin);
        }
      }
    }
  }
  std::vector<int> boundaries(rows, model.layers);
  for (std::size_t s = rows - 1; s > 0; --s) boundaries[s - 1] = from[s][static_cast<std::size_t>(boundaries[s])];
  return boundaries;
}

}  // namespace

std::int64_t element_count(const TensorSpec& tensor) {
  std::int64_t count = 1;
  for (const std::int64_t extent : tensor.shape) count *= extent;
  return count;
}

Result<std::vector<StagePlan>> partition(const ModelConfig& model, int stages) {
  if (stages < 1 || stages > model.layers) {
    return fail(Error::kUsage,
                compose("pipeline.stages = ", stages, ": a model of ", model.layers, " layers can be cut into 1 to ",
                        model.layers, " stages; lower pipeline.stages or raise model.layers"));
  }
  const std::vector<int> boundaries = best_boundaries(model, stages);
  std::vector<StagePlan> plans;
  for (std::size_t s = 0; s + 1 < boundaries.size(); ++s) {
    plans.push_back(make_plan(model, boundaries[s], boundaries[s + 1] - boundaries[s]));
  }
  return plans;
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
