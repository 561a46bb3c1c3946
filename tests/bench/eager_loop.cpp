// Written with torch's front end on purpose: what is measured is what people write.
#include "tests/bench/eager_loop.h"

#include <ATen/autocast_mode.h>
#include <torch/nn/functional.h>
#include <torch/nn/utils/clip_grad.h>
#include <torch/optim/adamw.h>

#include <map>
#include <vector>

#include "model/initial_weights.h"
#include "model/partition.h"
#include "runtime/data/batch.h"
#include "runtime/journal/learning_rate.h"
#include "tests/bench/eager_llama.h"

namespace shoal {
namespace {

namespace F = torch::nn::functional;

using Weights = std::map<std::string, torch::Tensor>;

// Linear layers hold [out, in] matrices there: what F::linear takes.
bool is_linear(const std::string& name) { return name.find(".c_") != std::string::npos && name.ends_with(".weight"); }

Weights draw_weights(const Config& config) {
  Weights weights;
  for (const TensorSpec& spec : whole_model(config.model).tensors) {
    torch::Tensor values = torch::empty(spec.shape);
    initial_weights(config.model, config.run.seed, spec,
                    {values.mutable_data_ptr<float>(), static_cast<std::size_t>(values.numel())});
    if (is_linear(spec.name)) values = values.t().contiguous();
    weights[spec.name] = values.set_requires_grad(true);
  }
  return weights;
}

torch::Tensor copy(const TensorBlob& blob) {
  return torch::from_blob(const_cast<std::byte*>(blob.bytes->data()), blob.shape, torch::kInt).to(torch::kLong);
}

// torch.autocast("cpu", dtype=torch.bfloat16) around a forward pass and its loss.
class Autocast {
 public:
  explicit Autocast(Precision precision) : was_(at::autocast::is_autocast_enabled(at::kCPU)) {
    at::autocast::increment_nesting();
    at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
    at::autocast::set_autocast_enabled(at::kCPU, precision == Precision::kBf16);
  }
  ~Autocast() {
    if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
    at::autocast::set_autocast_enabled(at::kCPU, was_);
  }
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

 private:
  bool was_;
};

}  // namespace

struct EagerLoop::Parts {
  Config config;
  const Tokens& tokens;
  Order order;
  Weights weights;
  std::vector<torch::Tensor> all;
  std::unique_ptr<torch::optim::AdamW> optimizer;
  std::uint64_t t = 0;

  torch::Tensor linear(const torch::Tensor& x, const std::string& name) {
    return F::linear(x, weights[name + ".weight"], weights[name + ".bias"]);
  }
  torch::Tensor norm(const torch::Tensor& x, const std::string& name) {
    const F::LayerNormFuncOptions options({config.model.width});
    return F::layer_norm(
        x, F::LayerNormFuncOptions(options).weight(weights[name + ".weight"]).bias(weights[name + ".bias"]));
  }
  torch::Tensor attend(const torch::Tensor& x, const std::string& layer) {
    const std::int64_t B = x.size(0);
    const std::int64_t T = x.size(1);
    const std::int64_t width = config.model.width;
    const auto parts = linear(x, layer + "attn.c_attn").split(width, 2);
    const auto heads = [&](const torch::Tensor& part) {
      return part.view({B, T, config.model.heads, width / config.model.heads}).transpose(1, 2);
    };
    const auto y =
        torch::scaled_dot_product_attention(heads(parts[0]), heads(parts[1]), heads(parts[2]), {}, 0.0, true);
    return linear(y.transpose(1, 2).contiguous().view({B, T, width}), layer + "attn.c_proj");
  }
  torch::Tensor forward(const torch::Tensor& input) {
    if (config.model.kind == ModelKind::kLlama) return eager_llama(config.model, weights, input);
    const auto positions = torch::arange(input.size(1), torch::kLong);
    auto x = F::embedding(input, weights["wte.weight"]) + F::embedding(positions, weights["wpe.weight"]);
    for (int n = 0; n < config.model.layers; ++n) {
      const std::string layer = "h." + std::to_string(n) + ".";
      x = x + attend(norm(x, layer + "ln_1"), layer);
      const auto hidden = torch::gelu(linear(norm(x, layer + "ln_2"), layer + "mlp.c_fc"), "tanh");
      x = x + linear(hidden, layer + "mlp.c_proj");
    }
    return F::linear(norm(x, "ln_f"), weights["lm_head.weight"]);
  }
};

EagerLoop::EagerLoop(const Config& config, const Tokens& tokens)
    : parts_(new Parts{
          config, tokens, Order(order_config(config, tokens.split().train)), draw_weights(config), {}, {}, 0}) {
  std::vector<torch::Tensor> decaying;
  std::vector<torch::Tensor> others;
  for (const auto& [name, weight] : parts_->weights) {
    parts_->all.push_back(weight);
    (weight.dim() == 2 ? decaying : others).push_back(weight);
  }
  const auto options = [&](double weight_decay) {
    return std::make_unique<torch::optim::AdamWOptions>(torch::optim::AdamWOptions(config.optim.lr)
                                                            .betas({config.optim.beta1, config.optim.beta2})
                                                            .eps(config.optim.eps)
                                                            .weight_decay(weight_decay));
  };
  std::vector<torch::optim::OptimizerParamGroup> groups;
  groups.emplace_back(decaying, options(config.optim.weight_decay));
  groups.emplace_back(others, options(0));
  parts_->optimizer = std::make_unique<torch::optim::AdamW>(groups);
}

EagerLoop::~EagerLoop() = default;

double EagerLoop::step() {
  Parts& p = *parts_;
  p.optimizer->zero_grad();
  const auto microbatches = static_cast<std::uint32_t>(p.order.microbatches_per_step());
  const double count = static_cast<double>(microbatches);
  double loss_sum = 0;
  for (std::uint32_t index = 0; index < microbatches; ++index) {
    const Microbatch batch = *make_microbatch(p.tokens, p.order, StepId{p.t}, MicrobatchId{index});
    torch::Tensor loss;
    {
      const Autocast autocast(p.config.model.precision);
      const auto logits = p.forward(copy(batch.inputs));
      loss = F::cross_entropy(logits.view({-1, logits.size(2)}), copy(batch.targets).view(-1)) / count;
    }
    loss.backward();
    loss_sum += loss.item<double>();
  }
  torch::nn::utils::clip_grad_norm_(p.all, p.config.optim.clip_norm);
  for (auto& group : p.optimizer->param_groups()) group.options().set_lr(learning_rate(p.config.optim, p.t));
  p.optimizer->step();
  ++p.t;
  return loss_sum;
}

}  // namespace shoal
