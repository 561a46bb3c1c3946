// Projections, x W + b, with weights [in, out] or [out, in], with or without a bias.
// Where products are computed in bf16, x is bf16, and so is its gradient (bf16/product.h).
// Shape letters: I inputs, O outputs, N = B T.
#pragma once

#include <optional>

#include "model/layer_list.h"
#include "model/parts/part.h"

namespace shoal {

class Projection final : public ModelPart {
 public:
  // result: the type of y and dy; where products are computed in float32, that.
  Projection(const ProjectionSpec& spec, const Parameters& parameters, at::ScalarType result);

  // x: [B,T,I] of the products' type. Returns [B,T,O].
  [[nodiscard]] at::Tensor forward(const at::Tensor& x_BTI, Tape& tape) const override;
  [[nodiscard]] at::Tensor backward(const at::Tensor& dy_BTO, Tape& tape, ParameterGradients& gradients) const override;

 private:
  [[nodiscard]] at::Tensor product(const at::Tensor& x_NI) const;
  [[nodiscard]] at::Tensor in_bf16(const at::Tensor& x_NI) const;
  // Rows of dy in the products' type.
  [[nodiscard]] at::Tensor rows_of(const at::Tensor& dy_BTO) const;
  void set_bias_gradient(const at::Tensor& dy_NO, ParameterGradients& gradients) const;

  Orientation orientation_;
  at::ScalarType result_;
  Parameter weight_;
  std::optional<Parameter> bias_;
  const FusedMath* fused_ = nullptr;  // of biases
};

// The projection onto the vocabulary. Its gradient, rows of the whole vocabulary, is never left for later: it would
// keep the gradients of all logits.
class Head final : public ModelPart {
 public:
  Head(const ProjectionSpec& spec, const Parameters& parameters);

  // x: float32 or bf16 [B,T,C]. Returns [B,T,V], float32; where a device takes the loss of bf16 by kernels of its own,
  // bf16 in rows that are padded to a multiple of 64.
  [[nodiscard]] at::Tensor forward(const at::Tensor& x_BTC, Tape& tape) const override;
  [[nodiscard]] at::Tensor backward(const at::Tensor& dy_BTV, Tape& tape, ParameterGradients& gradients) const override;

 private:
  [[nodiscard]] at::Tensor backward_padded(const at::Tensor& dy_BTV, const at::Tensor& x_NC,
                                           ParameterGradients& gradients) const;

  Parameter weight_VC_;
  at::Tensor padded_VC_;  // the copy itself, or with rows of zeros behind it, written by each forward
};

}  // namespace shoal
