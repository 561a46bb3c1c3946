// Cuts the stage behind its embedding, and writes down what a slot's passes compute.
#include "runtime/device/queue/stage_passes.h"

#include <algorithm>
#include <utility>

#include "runtime/base/ensure.h"

namespace shoal {
namespace {

StagePlan embedding_alone(StagePlan plan) {
  plan.layer_count = 0;
  plan.has_head = false;
  return plan;
}

StagePlan without_embedding(StagePlan plan) {
  plan.has_embedding = false;
  return plan;
}

std::vector<std::size_t> positions_of(const ModelConfig& model, const StagePlan& part, const StagePlan& plan) {
  std::vector<std::size_t> positions;
  for (const LayerSpec& layer : layers_of(model, part)) {
    for (const PartSpec& spec : layer.parts) {
      for (const TensorSpec& tensor : tensors_of(spec)) {
        const auto found = std::ranges::find(plan.tensors, tensor.name, &TensorSpec::name);
        positions.push_back(static_cast<std::size_t>(found - plan.tensors.begin()));
      }
    }
  }
  return positions;
}

}  // namespace

class StagePasses::Slot {
 public:
  explicit Slot(const StagePasses& stage)
      : forward(stage.device_.queue,
                [&stage, this](const RecordedPass::Tensors& inputs) -> RecordedPass::Tensors {
                  tape = Tape({}, Tape::Keeps::kAll);
                  return {stage.layers_.forward(inputs[0], tape)};
                }),
        backward(stage.device_.queue,
                 [&stage, this](const RecordedPass::Tensors& inputs) { return stage.differentiated(inputs[0], tape); }),
        both(stage.device_.queue, [&stage](const RecordedPass::Tensors& inputs) {
          Tape own({}, Tape::Keeps::kAll);
          LossAndGradient loss = stage.device_.math.loss_and_gradient(stage.layers_.forward(inputs[0], own), inputs[1]);
          RecordedPass::Tensors results = stage.differentiated(loss.dlogits_BTV, std::move(own));
          results.push_back(loss.loss_sum);
          return results;
        }) {}

  Tape embedding_tape{{}, Tape::Keeps::kAll};
  Tape tape{{}, Tape::Keeps::kAll};  // where the recorded backward finds what the recorded forward leaves
  RecordedPass forward, backward, both;
};

StagePasses::StagePasses(const ModelConfig& model, const StagePlan& plan, Device device)
    : device_(std::move(device)),
      parameter_count_(plan.tensors.size()),
      of_layers_(positions_of(model, without_embedding(plan), plan)),
      layers_(model, without_embedding(plan), device_.weights, device_.support) {
  ENSURE(device_.queue.can_record(), "a queue that records");
  if (!plan.has_embedding) return;
  const StagePlan alone = embedding_alone(plan);
  of_embedding_ = positions_of(model, alone, plan);
  embedding_ = std::make_unique<Transformer>(model, alone, device_.weights, device_.support);
}

std::shared_ptr<StagePasses::Slot> StagePasses::take() {
  const auto is_free = [](const std::shared_ptr<Slot>& slot) { return slot.use_count() == 1; };
  const auto found = std::ranges::find_if(slots_, is_free);
  if (found != slots_.end()) return *found;
  return slots_.emplace_back(std::make_shared<Slot>(*this));
}

at::Tensor StagePasses::entered(Slot& slot, const at::Tensor& input) const {
  if (!embedding_) return input;
  slot.embedding_tape = Tape({}, Tape::Keeps::kAll);
  return embedding_->forward(input, slot.embedding_tape);
}

at::Tensor StagePasses::forward(Slot& slot, const at::Tensor& input) const {
  return slot.forward.run({entered(slot, input)}).front();
}

StagePasses::Differentiated StagePasses::backward(Slot& slot, const at::Tensor& output_gradient) const {
  return with_embedding(slot, slot.backward.run({output_gradient}));
}

StagePasses::Differentiated StagePasses::forward_backward(Slot& slot, const at::Tensor& input,
                                                          const at::Tensor& targets) const {
  const std::span<const at::Tensor> results = slot.both.run({entered(slot, input), targets});
  Differentiated result = with_embedding(slot, results.first(results.size() - 1));
  result.loss_sum = results.back();
  return result;
}

std::vector<at::Tensor> StagePasses::differentiated(const at::Tensor& gradient, Tape tape) const {
  ParameterGradients gradients(parameter_count_, ParameterGradients::OfProjections::kAtOnce);
  std::vector<at::Tensor> results = {layers_.backward(gradient, tape, gradients)};
  for (const std::size_t position : of_layers_) results.push_back(gradients.take(position));
  return results;
}

StagePasses::Differentiated StagePasses::with_embedding(Slot& slot, std::span<const at::Tensor> results) const {
  Differentiated result;
  result.gradients.resize(parameter_count_);
  for (std::size_t i = 0; i < of_layers_.size(); ++i) result.gradients[of_layers_[i]] = results[i + 1];
  if (!embedding_) {
    result.input_gradient = results.front();
    return result;
  }
  ParameterGradients gradients(parameter_count_, ParameterGradients::OfProjections::kAtOnce);
  static_cast<void>(embedding_->backward(results.front(), slot.embedding_tape, gradients));
  for (const std::size_t position : of_embedding_) result.gradients[position] = gradients.take(position);
  return result;
}

}  // namespace shoal
