// The operators of a forward pass, in one order for every cut.
#include "model/transformer.h"

#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/scaled_dot_product_attention.h>

#include "model/gelu.h"
#include "model/projection.h"
#include "runtime/base/compose.h"

#include "runtime/base/check_after_torch.h"

namespace shoal {
namespace {

constexpr double kNormEpsilon = 1e-5;

at::Tensor take(const WeightMap& weights, const std::string& name) {
  const auto found = weights.find(name);
  CHECK(found != weights.end(), "a weight for " + name);
  CHECK(found->second.scalar_type() == at::kFloat, name + " is float32");
  return found->second;
}

}  // namespace

Transformer::Transformer(const ModelConfig& model, const StagePlan& plan, const WeightMap& weights)
    : heads_(model.heads),
      width_(model.width),
      context_(model.context),
      has_embedding_(plan.has_embedding),
      has_head_(plan.has_head) {
  CHECK(model.width % model.heads == 0, "heads divide the width");
  for (const TensorSpec& tensor : plan.tensors) {
    CHECK(take(weights, tensor.name).sizes() == at::IntArrayRef(tensor.shape), "the shape of " + tensor.name);
  }
  const auto norm_of = [&](const std::string& name) {
    return Norm{take(weights, name + ".weight"), take(weights, name + ".bias")};
  };
  const auto projection_of = [&](const std::string& name) {
    return Projection{take(weights, name + ".weight"), take(weights, name + ".bias")};
  };
  if (has_embedding_) {
    wte_ = take(weights, "wte.weight");
    wpe_ = take(weights, "wpe.weight");
  }
  for (int layer = plan.first_layer; layer < plan.first_layer + plan.layer_count; ++layer) {
    const std::string prefix = "h." + std::to_string(layer) + ".";
    layers_.push_back({layer, norm_of(prefix + "ln_1"), norm_of(prefix + "ln_2"), projection_of(prefix + "attn.c_attn"),
                       projection_of(prefix + "attn.c_proj"), projection_of(prefix + "mlp.c_fc"),
                       projection_of(prefix + "mlp.c_proj")});
  }
  if (has_head_) {
    ln_f_ = norm_of("ln_f");
    lm_head_ = take(weights, "lm_head.weight");
  }
}

at::Tensor Transformer::forward(const at::Tensor& input, const Dropout& dropout) const {
  CHECK(input.dim() == (has_embedding_ ? 2 : 3), "tokens [B,T] for the first stage, activations [B,T,C] for others");
  CHECK(input.size(1) <= context_, compose("at most ", context_, " tokens, not ", input.size(1)));
  at::Tensor x_BTC = has_embedding_ ? embed(input, dropout) : input;
  for (const Layer& layer : layers_) {
    const at::Tensor attended_BTC = attend(layer, norm(layer.ln_1, x_BTC));
    x_BTC = x_BTC.add(dropout.apply(attended_BTC, layer.index, DropoutSite::kAttention));
    const at::Tensor transformed_BTC = transform(layer, norm(layer.ln_2, x_BTC));
    x_BTC = x_BTC.add(dropout.apply(transformed_BTC, layer.index, DropoutSite::kMlp));
  }
  return has_head_ ? at::linear(norm(ln_f_, x_BTC), lm_head_) : x_BTC;
}

at::Tensor Transformer::embed(const at::Tensor& tokens_BT, const Dropout& dropout) const {
  const at::Tensor x_BTC = at::embedding(wte_, tokens_BT).add(wpe_.narrow(0, 0, tokens_BT.size(1)));
  return dropout.apply(x_BTC, 0, DropoutSite::kEmbedding);
}

at::Tensor Transformer::norm(const Norm& norm, const at::Tensor& x_BTC) const {
  return at::layer_norm(x_BTC, {width_}, norm.weight, norm.bias, kNormEpsilon);
}

at::Tensor Transformer::attend(const Layer& layer, const at::Tensor& x_BTC) const {
  const std::int64_t B = x_BTC.size(0);
  const std::int64_t T = x_BTC.size(1);
  const auto parts = project(x_BTC, layer.attn_c_attn.weight_io, layer.attn_c_attn.bias).split(width_, 2);
  const auto heads_of = [&](const at::Tensor& part) {
    return part.view({B, T, heads_, width_ / heads_}).transpose(1, 2);
  };
  const at::Tensor y_BHTD = at::scaled_dot_product_attention(heads_of(parts[0]), heads_of(parts[1]), heads_of(parts[2]),
                                                             std::nullopt, 0.0, true);
  const at::Tensor y_BTC = y_BHTD.transpose(1, 2).reshape({B, T, width_});
  return project(y_BTC, layer.attn_c_proj.weight_io, layer.attn_c_proj.bias);
}

at::Tensor Transformer::transform(const Layer& layer, const at::Tensor& x_BTC) const {
  const at::Tensor hidden = tanh_gelu(project(x_BTC, layer.mlp_c_fc.weight_io, layer.mlp_c_fc.bias));
  return project(hidden, layer.mlp_c_proj.weight_io, layer.mlp_c_proj.bias);
}

at::Tensor loss_sum(const at::Tensor& logits_BTV, const at::Tensor& targets_BT) {
  const at::Tensor logits_NV = logits_BTV.reshape({-1, logits_BTV.size(2)});
  return at::cross_entropy_loss(logits_NV, targets_BT.reshape({-1}), {}, at::Reduction::Sum, -1);
}

}  // namespace shoal
