// Runs the model under autograd, takes the gradients out and hands them to the accumulators.
#include "runtime/device/cpu_stage_executor.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/from_blob.h>
#include <torch/csrc/autograd/autograd.h>

#include "runtime/device/host_tensor.h"

#include "runtime/base/check_after_torch.h"

namespace shoal {
namespace {

std::uint64_t count_targets(const TensorBlob& targets) {
  CHECK(targets.dtype == DType::kInt32, "targets are int32");
  const auto* begin = targets.as<std::int32_t>();
  return static_cast<std::uint64_t>(
      std::count_if(begin, begin + targets.element_count(), [](std::int32_t target) { return target >= 0; }));
}

// A tensor over memory that outlives it.
at::Tensor over(std::span<float> values, const FlatTensor& tensor) {
  return at::from_blob(values.data(), tensor.spec.shape, at::TensorOptions().dtype(at::kFloat));
}

}  // namespace

CpuStageExecutor::CpuStageExecutor(const Config& config, StagePlan plan)
    : config_(config),
      plan_(std::move(plan)),
      layout_(plan_.tensors),
      state_(layout_, config),
      sums_(layout_, config.sync.reduction, planned_tokens(config)) {
  WeightMap trained;
  WeightMap agreed;
  for (const FlatTensor& tensor : layout_.tensors) {
    at::Tensor weights = over(state_.weights_of(tensor), tensor);
    weights.set_requires_grad(true);
    weights_.push_back(weights);
    trained[tensor.spec.name] = weights;
    agreed[tensor.spec.name] = over(state_.agreed_of(tensor), tensor);
  }
  model_ = std::make_unique<Transformer>(config_.model, plan_, trained);
  agreed_model_ = std::make_unique<Transformer>(config_.model, plan_, agreed);
}

TensorBlob CpuStageExecutor::forward(const MicrobatchWork& work) {
  CHECK(!plan_.has_head, "the last stage runs forward_backward");
  use_threads();
  const bool keeps_graph = !config_.pipeline.recompute;
  Kept kept{work, take_input(work, keeps_graph), {}};
  const at::AutoGradMode graph(keeps_graph);
  const at::Tensor output = run(work, kept.input, config_.model.dropout);
  if (keeps_graph) kept.output = output;
  kept_.insert_or_assign(work.microbatch, std::move(kept));
  return to_blob(output.detach());
}

BackwardResult CpuStageExecutor::backward(MicrobatchId microbatch, const TensorBlob& output_gradient,
                                          WeightGradients when) {
  const auto found = kept_.find(microbatch);
  CHECK(found != kept_.end(), "a backward follows the forward of its microbatch");
  use_threads();
  Kept kept = std::move(found->second);
  kept_.erase(found);
  if (!kept.output.defined()) {
    const at::AutoGradMode graph(true);
    kept.input = take_input(kept.work, true);
    kept.output = run(kept.work, kept.input, config_.model.dropout);
  }
  const at::Tensor gradient = borrow(output_gradient);
  CHECK(gradient.sizes() == kept.output.sizes(), "the gradient has the shape of the activation");
  return differentiate({kept.output, gradient}, kept.input, kept.work, when);
}

BackwardResult CpuStageExecutor::forward_backward(const MicrobatchWork& work, WeightGradients when) {
  CHECK(plan_.has_head, "only the last stage has a loss");
  use_threads();
  const at::AutoGradMode graph(true);
  const at::Tensor input = take_input(work, true);
  const at::Tensor logits_BTV = run(work, input, config_.model.dropout);
  const at::Tensor loss = loss_sum(logits_BTV, borrow(work.targets).to(at::kLong));
  BackwardResult result = differentiate({loss, {}}, input, work, when);
  result.loss_sum = loss.item<float>();
  if (!std::isfinite(result.loss_sum)) half_done_.at(work.microbatch).result.bad_tensor = "loss";
  return result;
}

EvaluateResult CpuStageExecutor::evaluate(const MicrobatchWork& work) {
  use_threads();
  const at::NoGradGuard no_graph;
  const at::Tensor output = agreed_model_->forward(take_input(work, false), Dropout{});
  EvaluateResult result;
  result.token_count = count_targets(work.targets);
  if (plan_.has_head) {
    result.loss_sum = loss_sum(output, borrow(work.targets).to(at::kLong)).item<float>();
  } else {
    result.activation = to_blob(output);
  }
  return result;
}

void CpuStageExecutor::zero() {
  kept_.clear();
  half_done_.clear();
  sums_.clear();
}

ReducedSum CpuStageExecutor::adopt_sum(const TensorBlob& sum, std::uint64_t token_count) {
  return sums_.adopt(sum, token_count);
}

void CpuStageExecutor::apply(const UpdateOrder& order) {
  CHECK(sums_.has_mean(), "an update needs an adopted sum");
  state_.update(sums_, order);
  zero();
}

std::vector<std::string> CpuStageExecutor::tensor_names() const {
  std::vector<std::string> names;
  for (const FlatTensor& tensor : layout_.tensors) names.push_back(tensor.spec.name);
  return names;
}

at::Tensor CpuStageExecutor::take_input(const MicrobatchWork& work, bool wants_gradient) const {
  at::Tensor input = borrow(work.input);
  const bool takes_tokens = plan_.has_embedding;
  CHECK(input.scalar_type() == (takes_tokens ? at::kInt : at::kFloat), "tokens int32, activations float32");
  CHECK(takes_tokens || input.dim() == 3, "activations are [B,T,C]");
  return takes_tokens ? input : input.set_requires_grad(wants_gradient);
}

at::Tensor CpuStageExecutor::run(const MicrobatchWork& work, const at::Tensor& input, double dropout_rate) const {
  const Dropout dropout{
      .rate = dropout_rate,
      .seed = config_.run.seed,
      .step = work.step.value,
      .first_sample = std::uint64_t{work.microbatch.value} * static_cast<std::uint64_t>(config_.batch.microbatch)};
  return model_->forward(input, dropout);
}

BackwardResult CpuStageExecutor::differentiate(const Root& root, const at::Tensor& input, const MicrobatchWork& work,
                                               WeightGradients when) {
  std::vector<at::Tensor> variables = weights_;
  if (!plan_.has_embedding) variables.push_back(input);
  std::vector<at::Tensor> seeds;
  if (root.gradient.defined()) seeds.push_back(root.gradient);
  HalfDone half;
  {
    std::optional<LeavingForLater> leaving;
    if (when == WeightGradients::kLater) leaving.emplace(half.later);
    half.gradients = torch::autograd::grad({root.value}, variables, seeds, std::nullopt, false, true);
  }
  BackwardResult result;
  result.token_count = count_targets(work.targets);
  half.result.token_count = result.token_count;
  if (!plan_.has_embedding) {
    result.input_gradient = to_blob(half.gradients.back());
    half.gradients.pop_back();
  }
  const bool is_first = half_done_.emplace(work.microbatch, std::move(half)).second;
  CHECK(is_first, "a microbatch is accumulated before it is computed again");
  return result;
}

AccumulateResult CpuStageExecutor::accumulate(MicrobatchId microbatch) {
  const auto found = half_done_.find(microbatch);
  CHECK(found != half_done_.end(), "a microbatch is accumulated once, after its backward");
  use_threads();
  HalfDone half = std::move(found->second);
  half_done_.erase(found);
  const at::NoGradGuard no_graph;
  AccumulateResult& result = half.result;
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    const FlatTensor& tensor = layout_.tensors[i];
    const at::Tensor given = std::exchange(half.gradients[i], {});
    const at::Tensor dense = (given.defined() ? given : half.later.of(weights_[i])).contiguous();
    const std::span<const float> values(dense.const_data_ptr<float>(), tensor.count);
    if (!sums_.add(tensor, values, result.token_count) && !result.bad_tensor) result.bad_tensor = tensor.spec.name;
  }
  return result;
}

TensorBlob CpuStageExecutor::contribution() const {
  CHECK(half_done_.empty(), "what is contributed is accumulated to the end");
  return sums_.contribution();
}

// Torch keeps its number of threads per calling thread, and an executor may be called from another one than made it.
void CpuStageExecutor::use_threads() const {
  if (at::get_num_threads() != config_.run.threads) at::set_num_threads(config_.run.threads);
}

}  // namespace shoal
