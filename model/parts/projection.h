// Projections, x W + b, with weights [in, out] or [out, in], with or without a bias.
// Shape letters: I inputs, O outputs, N = B T.
#pragma once

#include <optional>

#include "model/layer_list.h"
#include "model/parts/part.h"

namespace shoal {

class Projection final : public ModelPart {
 public:
  Projection(const ProjectionSpec& spec, const Parameters& parameters);

  // x: float32 [B,T,I]. Returns [B,T,O].
  [[nodiscard]] at::Tensor forward(const at::Tensor& x_BTI, Tape& tape) const override;
  [[nodiscard]] at::Tensor backward(const at::Tensor& dy_BTO, Tape& tape, ParameterGradients& gradients) const override;

 private:
  Orientation orientation_;
  Parameter weight_;
  std::optional<Parameter> bias_;
};

// The projection onto the vocabulary. Its gradient, rows of the whole vocabulary, is never left for later: it would
// keep the gradients of all logits.
class Head final : public ModelPart {
 public:
  Head(const ProjectionSpec& spec, const Parameters& parameters);

  [[nodiscard]] at::Tensor forward(const at::Tensor& x_BTC, Tape& tape) const override;
  [[nodiscard]] at::Tensor backward(const at::Tensor& dy_BTV, Tape& tape, ParameterGradients& gradients) const override;

 private:
  Parameter weight_VC_;
};

}  // namespace shoal
