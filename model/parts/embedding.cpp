// Two tables and their gradients.
#include "model/parts/embedding.h"

#include <ATen/ops/embedding.h>
#include <ATen/ops/embedding_dense_backward.h>
#include <ATen/ops/zeros_like.h>

#include "model/parts/dropping.h"

namespace shoal {

Embedding::Embedding(const EmbeddingSpec& spec, const Parameters& parameters)
    : fused_(parameters.fused()), tokens_(parameters.of(spec.tokens)) {
  if (spec.positions) positions_ = parameters.of(*spec.positions);
}

at::Tensor Embedding::forward(const at::Tensor& tokens_BT, Tape& tape) const {
  tape.keep(tokens_BT);
  at::Tensor x_BTC = at::embedding(tokens_.value, tokens_BT.to(tokens_.value.device(), true));
  if (positions_) x_BTC = x_BTC.add(positions_->value.narrow(0, 0, tokens_BT.size(1)));
  return drop(x_BTC, {0, DropoutSite::kEmbedding, fused_}, tape);
}

at::Tensor Embedding::backward(const at::Tensor& dy_BTC, Tape& tape, ParameterGradients& gradients) const {
  const at::Tensor dx_BTC = drop_backward(dy_BTC, {0, DropoutSite::kEmbedding, fused_}, tape);
  const at::Tensor tokens_BT = tape.take();
  gradients.set(tokens_, gradient_of_tokens(dx_BTC, tokens_BT));
  if (positions_) gradients.set(*positions_, gradient_of_positions(dx_BTC));
  return {};
}

at::Tensor Embedding::gradient_of_tokens(const at::Tensor& dx_BTC, const at::Tensor& tokens_BT) const {
  const std::int64_t rows = tokens_.value.size(0);
  if (fused_ != nullptr) return fused_->embedding_gradient(dx_BTC, tokens_BT, rows);
  return at::embedding_dense_backward(dx_BTC, tokens_BT.to(dx_BTC.device(), true), rows, -1, false);
}

at::Tensor Embedding::gradient_of_positions(const at::Tensor& dx_BTC) const {
  const at::Tensor seen_TC = fused_ == nullptr ? dx_BTC.sum(0) : fused_->sum_over_sequences(dx_BTC);
  if (seen_TC.sizes() == positions_->value.sizes()) return seen_TC;
  const at::Tensor all = at::zeros_like(positions_->value);
  all.narrow(0, 0, seen_TC.size(0)).copy_(seen_TC);
  return all;
}

}  // namespace shoal
