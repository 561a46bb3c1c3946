// Reads the configuration, and runs the model under autograd.
#include "tests/reference/plain_bridge.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <torch/csrc/autograd/autograd.h>

#include "model/partition.h"
#include "model/parts/loss.h"
#include "model/transformer.h"
#include "runtime/device/host_tensor.h"

namespace shoal {
namespace {

// Linear warm-up, then a cosine (DESIGN.md §4.10).
double rate_of(const OptimConfig& optim, int step) {
  const auto t = static_cast<double>(step);
  const auto warmup = static_cast<double>(optim.warmup_steps);
  if (t < warmup) return optim.lr * (t + 1) / warmup;
  const double share = (t - warmup) / (static_cast<double>(optim.decay_steps) - warmup);
  if (share >= 1) return optim.min_lr;
  return optim.min_lr + 0.5 * (optim.lr - optim.min_lr) * (1 + std::cos(std::acos(-1.0) * share));
}

}  // namespace

plain::Tensors as_doubles(const NamedTensors& tensors) {
  plain::Tensors doubles;
  for (const auto& [name, values] : tensors) doubles[name] = {values.begin(), values.end()};
  return doubles;
}

plain::Recipe recipe_of(const Config& config, std::size_t workers) {
  const SyncConfig& sync = config.sync;
  plain::Recipe recipe;
  recipe.workers = static_cast<int>(workers);
  recipe.microbatches = microbatches_per_step(config);
  recipe.period = static_cast<int>(sync.H);
  recipe.overlap = static_cast<int>(sync.overlap);
  recipe.outer_lr = sync.outer_lr;
  recipe.outer_momentum = sync.outer_momentum;
  recipe.mix = sync.mix;
  recipe.plain_rounds = static_cast<int>(sync.outer_warmup);
  recipe.resets_averages = sync.inner_state == InnerState::kReset;
  recipe.averages_averages = sync.inner_state == InnerState::kAverage;
  if (sync.outer_update == OuterUpdate::kDelayed) recipe.update = plain::Update::kDelayed;
  if (sync.outer_update == OuterUpdate::kEager) {
    recipe.update = sync.eager_variant == EagerVariant::kPaper ? plain::Update::kPaper : plain::Update::kAgreed;
  }
  recipe.first_steps = {recipe.period};
  recipe.fragment_of = [](const std::string&) { return 0; };
  recipe.stage_of = [](const std::string&) { return 0; };
  recipe.uses_adamw = config.optim.kind == OptimizerKind::kAdamw;
  recipe.learning_rate = [optim = config.optim](int step) { return rate_of(optim, step); };
  recipe.beta1 = config.optim.beta1;
  recipe.beta2 = config.optim.beta2;
  recipe.eps = config.optim.eps;
  recipe.weight_decay = config.optim.weight_decay;
  recipe.decays = [](const std::string& name) { return !name.ends_with(".bias") && name.find("ln_") == name.npos; };
  recipe.clip_norm = config.optim.clip_norm;
  return recipe;
}

plain::Gradient model_gradient(const Config& config, const plain::Tensors& weights, const MicrobatchWork& work) {
  if (at::get_num_threads() != config.run.threads) at::set_num_threads(config.run.threads);
  const StagePlan plan = whole_model(config.model);
  WeightMap by_name;
  std::vector<at::Tensor> variables;
  for (const TensorSpec& spec : plan.tensors) {
    at::Tensor tensor = at::empty(spec.shape, at::kFloat);
    std::copy(weights.at(spec.name).begin(), weights.at(spec.name).end(), tensor.data_ptr<float>());
    variables.push_back(tensor.set_requires_grad(true));
    by_name[spec.name] = tensor;
  }
  const at::AutoGradMode graph(true);
  const at::Tensor logits_BTV = Transformer(config.model, plan, by_name).forward(borrow(work.input));
  const at::Tensor targets_BT = borrow(work.targets).to(at::kLong);
  const auto gradients = torch::autograd::grad({loss_sum(logits_BTV, targets_BT)}, variables);
  plain::Gradient result;
  result.tokens = static_cast<double>(work.targets.element_count());
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const at::Tensor dense = gradients[i].contiguous();
    result.sums[plan.tensors[i].name] = {dense.data_ptr<float>(), dense.data_ptr<float>() + dense.numel()};
  }
  return result;
}

}  // namespace shoal
