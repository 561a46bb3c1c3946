// Layer by layer; rotary tables are made for every batch, as transformers makes them.
#include "tests/bench/eager_llama.h"

#include <torch/nn/functional.h>

namespace shoal {
namespace {

namespace F = torch::nn::functional;

struct Rotation {
  torch::Tensor cosines, sines;

  Rotation(const ModelConfig& model, std::int64_t tokens) {
    const torch::Tensor exponents = torch::arange(0, head_size_of(model), 2).to(torch::kFloat) / head_size_of(model);
    const torch::Tensor angles =
        torch::outer(torch::arange(tokens).to(torch::kFloat), torch::pow(model.rope_theta, exponents).reciprocal());
    const torch::Tensor both = torch::cat({angles, angles}, 1);
    cosines = both.cos();
    sines = both.sin();
  }
  [[nodiscard]] torch::Tensor turn(const torch::Tensor& x) const {
    const auto halves = x.chunk(2, -1);
    return x * cosines + torch::cat({-halves[1], halves[0]}, -1) * sines;
  }
};

struct Layer {
  const ModelConfig& model;
  const std::map<std::string, torch::Tensor>& weights;
  std::string prefix;

  [[nodiscard]] torch::Tensor linear(const torch::Tensor& x, const std::string& name) const {
    return F::linear(x, weights.at(prefix + name + ".weight"));
  }
  [[nodiscard]] torch::Tensor norm(const torch::Tensor& x, const std::string& name) const {
    const torch::Tensor scale = torch::rsqrt(x.pow(2).mean(-1, true) + model.norm_eps);
    return weights.at(prefix + name + ".weight") * (x * scale);
  }
  [[nodiscard]] torch::Tensor attend(const torch::Tensor& x, const Rotation& rotation) const {
    const std::int64_t D = head_size_of(model);
    const auto heads = [&](const std::string& name) {
      return linear(x, "self_attn." + name + "_proj").view({x.size(0), x.size(1), -1, D}).transpose(1, 2);
    };
    const std::int64_t group = model.heads / kv_heads_of(model);
    const auto spread = [&](const torch::Tensor& of) { return group == 1 ? of : of.repeat_interleave(group, 1); };
    const torch::Tensor y = torch::scaled_dot_product_attention(
        rotation.turn(heads("q")), spread(rotation.turn(heads("k"))), spread(heads("v")), {}, 0.0, true);
    return linear(y.transpose(1, 2).reshape({x.size(0), x.size(1), -1}), "self_attn.o_proj");
  }
  [[nodiscard]] torch::Tensor mlp(const torch::Tensor& x) const {
    return linear(torch::silu(linear(x, "mlp.gate_proj")) * linear(x, "mlp.up_proj"), "mlp.down_proj");
  }
};

}  // namespace

torch::Tensor eager_llama(const ModelConfig& model, const std::map<std::string, torch::Tensor>& weights,
                          const torch::Tensor& tokens) {
  const Rotation rotation(model, tokens.size(1));
  torch::Tensor x = F::embedding(tokens, weights.at("model.embed_tokens.weight"));
  for (int n = 0; n < model.layers; ++n) {
    const Layer layer{model, weights, "model.layers." + std::to_string(n) + "."};
    x = x + layer.attend(layer.norm(x, "input_layernorm"), rotation);
    x = x + layer.mlp(layer.norm(x, "post_attention_layernorm"));
  }
  const Layer end{model, weights, "model."};
  return F::linear(end.norm(x, "norm"), weights.at("lm_head.weight"));
}

}  // namespace shoal
