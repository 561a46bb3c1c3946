// Builds the parts of the stage's layers, and runs them there and back.
#include "model/transformer.h"

#include "model/parts/branch.h"
#include "model/parts/make_part.h"
#include "runtime/base/compose.h"
#include "runtime/base/ensure.h"

namespace shoal {

Transformer::Transformer(const ModelConfig& model, const StagePlan& plan, const WeightMap& weights,
                         const DeviceSupport& device)
    : context_(model.context), has_embedding_(plan.has_embedding) {
  const Parameters parameters(plan, weights, model.precision, device);
  copies_ = parameters.copies();
  for (const LayerSpec& layer : layers_of(model, plan)) {
    if (!layer.block) {
      for (const PartSpec& part : layer.parts) parts_.push_back(make_part(part, parameters));
      continue;
    }
    ENSURE(layer.parts.size() == 4, "a block is two branches, each a norm and what follows it");
    for (const std::size_t at : {0U, 2U}) {
      const DropoutPlace place{*layer.block, at == 0 ? DropoutSite::kAttention : DropoutSite::kMlp, parameters.fused()};
      auto norm = make_norm(std::get<NormSpec>(layer.parts[at]), parameters, parameters.product_type());
      parts_.push_back(std::make_unique<Branch>(std::move(norm), make_part(layer.parts[at + 1], parameters), place));
    }
  }
}

void Transformer::weights_changed() const {
  if (copies_) copies_->write();
}

at::Tensor Transformer::forward(const at::Tensor& input, Tape& tape) const {
  ENSURE(input.dim() == (has_embedding_ ? 2 : 3), "tokens [B,T] for the first stage, activations [B,T,C] for others");
  ENSURE(input.size(1) <= context_, compose("at most ", context_, " tokens, not ", input.size(1)));
  Residual stream{input};
  for (const auto& part : parts_) stream = part->forward_stream(stream, tape);
  return stream.sum();
}

at::Tensor Transformer::forward(const at::Tensor& input) const {
  Tape tape({}, Tape::Keeps::kNothing);
  return forward(input, tape);
}

at::Tensor Transformer::backward(at::Tensor gradient, Tape& tape, ParameterGradients& gradients) const {
  StreamGradient d{std::move(gradient)};
  for (auto part = parts_.rbegin(); part != parts_.rend(); ++part) d = (*part)->backward_stream(d, tape, gradients);
  ENSURE(tape.is_empty(), "a backward takes all that its forward kept");
  return d.d;
}

}  // namespace shoal
