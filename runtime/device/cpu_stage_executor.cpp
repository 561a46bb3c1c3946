// Runs the model there and back, takes the gradients out and hands them to the accumulators.
#include "runtime/device/cpu_stage_executor.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/from_blob.h>

#include "model/parts/loss.h"
#include "runtime/base/ensure.h"
#include "runtime/device/host_tensor.h"
#include "runtime/device/microbatch_input.h"

namespace shoal {
namespace {

std::uint64_t count_targets(const TensorBlob& targets) {
  ENSURE(targets.dtype == DType::kInt32, "targets are int32");
  const auto* begin = targets.as<std::int32_t>();
  return static_cast<std::uint64_t>(
      std::count_if(begin, begin + targets.element_count(), [](std::int32_t target) { return target >= 0; }));
}

// A tensor over memory that outlives it.
at::Tensor over(std::span<float> values, const FlatTensor& tensor) {
  return at::from_blob(values.data(), tensor.spec.shape, at::TensorOptions().dtype(at::kFloat));
}

}  // namespace

CpuStageExecutor::CpuStageExecutor(const Config& config, StagePlan plan, BeginsWith begins)
    : config_(config),
      plan_(std::move(plan)),
      layout_(plan_.tensors),
      state_(layout_, config, begins),
      sums_(layout_, config.sync.reduction, planned_tokens(config)) {
  WeightMap trained;
  for (const FlatTensor& tensor : layout_.tensors) trained[tensor.spec.name] = over(state_.weights_of(tensor), tensor);
  model_ = std::make_unique<Transformer>(config_.model, plan_, trained);
  if (config_.sync.mode != SyncMode::kDiloco) return;
  WeightMap agreed;
  for (const FlatTensor& tensor : layout_.tensors) agreed[tensor.spec.name] = over(state_.agreed_of(tensor), tensor);
  agreed_model_ = std::make_unique<Transformer>(config_.model, plan_, agreed);
}

const Transformer& CpuStageExecutor::up_to_date(const Transformer& model, bool& is_stale) {
  if (std::exchange(is_stale, false)) model.weights_changed();
  return model;
}

const Transformer& CpuStageExecutor::agreed_model() {
  return agreed_model_ ? up_to_date(*agreed_model_, agreed_is_stale_) : trained_model();
}

TensorBlob CpuStageExecutor::forward(const MicrobatchWork& work) {
  ENSURE(!plan_.has_head, "the last stage runs forward_backward");
  use_threads();
  const at::NoGradGuard no_graph;
  const bool keeps_tape = !config_.pipeline.recompute;
  Tape tape = tape_for(config_, work, keeps_tape ? Tape::Keeps::kAll : Tape::Keeps::kNothing);
  const at::Tensor output = trained_model().forward(input_of(work), tape);
  Kept kept{work, std::nullopt};
  if (keeps_tape) kept.tape = std::move(tape);
  kept_.insert_or_assign(work.microbatch, std::move(kept));
  return to_blob(output);
}

BackwardResult CpuStageExecutor::backward(MicrobatchId microbatch, const TensorBlob& output_gradient,
                                          WeightGradients when) {
  const auto found = kept_.find(microbatch);
  ENSURE(found != kept_.end(), "a backward follows the forward of its microbatch");
  use_threads();
  const at::NoGradGuard no_graph;
  Kept kept = std::move(found->second);
  kept_.erase(found);
  if (!kept.tape) {
    kept.tape = tape_for(config_, kept.work, Tape::Keeps::kAll);
    static_cast<void>(trained_model().forward(input_of(kept.work), *kept.tape));
  }
  const at::Tensor gradient = borrow(output_gradient);
  const auto& sizes = kept.work.input.shape;
  ENSURE(gradient.sizes() == at::IntArrayRef({sizes.at(0), sizes.at(1), config_.model.width}),
         "the gradient has the shape of the activation");
  return differentiate(gradient, *kept.tape, kept.work, when);
}

BackwardResult CpuStageExecutor::forward_backward(const MicrobatchWork& work, WeightGradients when) {
  ENSURE(plan_.has_head, "only the last stage has a loss");
  use_threads();
  const at::NoGradGuard no_graph;
  Tape tape = tape_for(config_, work, Tape::Keeps::kAll);
  LossAndGradient loss =
      loss_and_gradient(trained_model().forward(input_of(work), tape), borrow(work.targets).to(at::kLong));
  BackwardResult result = differentiate(std::exchange(loss.dlogits_BTV, {}), tape, work, when);
  result.loss_sum = loss.loss_sum.item<float>();
  if (!std::isfinite(result.loss_sum)) half_done_.at(work.microbatch).result.bad_tensor = "loss";
  return result;
}

EvaluateResult CpuStageExecutor::evaluate(const MicrobatchWork& work) {
  use_threads();
  const at::NoGradGuard no_graph;
  const at::Tensor output = agreed_model().forward(input_of(work));
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
  ENSURE(sums_.has_mean(), "an update needs an adopted sum");
  state_.update(sums_, order);
  weights_changed();
  zero();
}

Status CpuStageExecutor::load_state(const TensorBlob& image) {
  weights_changed();
  return state_.load(image);
}

Result<bool> CpuStageExecutor::load_piece(const ImagePiece& piece) {
  weights_changed();
  return state_.load_piece(piece);
}

std::uint64_t CpuStageExecutor::apply_round(const RoundUpdate& update) {
  weights_changed();
  return state_.apply_round(update);
}

std::vector<std::uint64_t> CpuStageExecutor::restart_from_outer() {
  weights_changed();
  return state_.restart_from_outer();
}

std::vector<std::string> CpuStageExecutor::tensor_names() const {
  std::vector<std::string> names;
  for (const FlatTensor& tensor : layout_.tensors) names.push_back(tensor.spec.name);
  return names;
}

at::Tensor CpuStageExecutor::input_of(const MicrobatchWork& work) const {
  state_.ensure_begun();
  at::Tensor input = borrow(work.input);
  check_input(input, plan_);
  return input;
}

BackwardResult CpuStageExecutor::differentiate(at::Tensor gradient, Tape& tape, const MicrobatchWork& work,
                                               WeightGradients when) {
  using OfProjections = ParameterGradients::OfProjections;
  const bool is_later = when == WeightGradients::kLater;
  HalfDone half{{layout_.tensors.size(), is_later ? OfProjections::kLater : OfProjections::kAtOnce}, {}};
  const at::Tensor input_gradient = model_->backward(std::move(gradient), tape, half.gradients);
  BackwardResult result;
  result.token_count = count_targets(work.targets);
  half.result.token_count = result.token_count;
  if (!plan_.has_embedding) result.input_gradient = to_blob(input_gradient);
  const bool is_first = half_done_.emplace(work.microbatch, std::move(half)).second;
  ENSURE(is_first, "a microbatch is accumulated before it is computed again");
  return result;
}

AccumulateResult CpuStageExecutor::accumulate(MicrobatchId microbatch) {
  const auto found = half_done_.find(microbatch);
  ENSURE(found != half_done_.end(), "a microbatch is accumulated once, after its backward");
  use_threads();
  HalfDone half = std::move(found->second);
  half_done_.erase(found);
  const at::NoGradGuard no_graph;
  AccumulateResult& result = half.result;
  for (std::size_t i = 0; i < layout_.tensors.size(); ++i) {
    const FlatTensor& tensor = layout_.tensors[i];
    const at::Tensor dense = half.gradients.take(i).contiguous();
    const std::span<const float> values(dense.const_data_ptr<float>(), tensor.count);
    if (!sums_.add(tensor, values, result.token_count) && !result.bad_tensor) result.bad_tensor = tensor.spec.name;
  }
  return result;
}

TensorBlob CpuStageExecutor::contribution() const {
  ENSURE(half_done_.empty(), "what is contributed is accumulated to the end");
  return sums_.contribution();
}

// Torch keeps its number of threads per calling thread, and an executor may be called from another one than made it.
void CpuStageExecutor::use_threads() const {
  if (at::get_num_threads() != config_.run.threads) at::set_num_threads(config_.run.threads);
}

}  // namespace shoal
