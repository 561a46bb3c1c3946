// Follows the backward passes of parts/mlp.cpp, tensor by tensor.
#include "model/pass_memory.h"

#include <algorithm>
#include <variant>

namespace shoal {
namespace {

// Counts the output gradient, as it comes in float32, and what products make. F: elements of the hidden layer.
//   kGelu    gradients behind and before the GELU (2 F), and the input's; the output's input (F) is given back first
//   kSwiglu  gradients of the gated product, of the gate before and behind its silu (3 F; in bf16 of up and gate), and
//            two of the input; the output's input (F) is given back first
std::uint64_t passing(const MlpSpec& mlp, bool is_bf16) {
  const std::int64_t width = mlp.out.out, hidden = mlp.out.in;
  const std::int64_t of_products = mlp.kind == MlpKind::kGelu ? hidden + width : 2 * (hidden + width);
  return static_cast<std::uint64_t>(width + (is_bf16 ? (of_products + 1) / 2 : of_products));
}

}  // namespace

std::uint64_t mask_values(const StagePlan& plan, const ModelConfig& model) {
  if (model.dropout <= 0) return 0;
  const std::uint64_t masks = (plan.has_embedding ? 1 : 0) + 2 * static_cast<std::uint64_t>(plan.layer_count);
  return masks * static_cast<std::uint64_t>(model.width);
}

std::uint64_t passing_values(const StagePlan& plan, const ModelConfig& model) {
  std::uint64_t of_last_block = 0;
  for (const LayerSpec& layer : layers_of(model, plan)) {
    for (const PartSpec& part : layer.parts) {
      const auto* mlp = std::get_if<MlpSpec>(&part);
      if (mlp != nullptr) of_last_block = passing(*mlp, model.precision == Precision::kBf16);
    }
  }
  return of_last_block;
}

std::uint64_t largest_tensor(const StagePlan& plan) {
  std::int64_t most = 0;
  for (const TensorSpec& tensor : plan.tensors) most = std::max(most, element_count(tensor));
  return static_cast<std::uint64_t>(most);
}

}  // namespace shoal
