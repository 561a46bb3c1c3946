// The embedding of tokens, with learned positions where the model has them, and dropout over their sum.
// It is the only part that takes tokens: int32 or int64 [B,T], on the host or where the table is; its backward returns
// nothing. A device's own kernels (fused_math.h) need them on the host, int32.
#pragma once

#include <optional>

#include "model/layer_list.h"
#include "model/parts/part.h"

namespace shoal {

class Embedding final : public ModelPart {
 public:
  Embedding(const EmbeddingSpec& spec, const Parameters& parameters);

  [[nodiscard]] at::Tensor forward(const at::Tensor& tokens_BT, Tape& tape) const override;
  [[nodiscard]] at::Tensor backward(const at::Tensor& dy_BTC, Tape& tape, ParameterGradients& gradients) const override;

 private:
  // Zero for positions that the sequences do not reach.
  [[nodiscard]] at::Tensor gradient_of_positions(const at::Tensor& dx_BTC) const;

  [[nodiscard]] at::Tensor gradient_of_tokens(const at::Tensor& dx_BTC, const at::Tensor& tokens_BT) const;

  const FusedMath* fused_;
  Parameter tokens_;
  std::optional<Parameter> positions_;
};

}  // namespace shoal
