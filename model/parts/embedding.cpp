// Two tables and their gradients.
#include "model/parts/embedding.h"

#include <ATen/ops/embedding.h>
#include <ATen/ops/embedding_dense_backward.h>
#include <ATen/ops/zeros_like.h>

#include "model/parts/dropping.h"

namespace shoal {

Embedding::Embedding(const EmbeddingSpec& spec, const Parameters& parameters) : tokens_(parameters.of(spec.tokens)) {
  if (spec.positions) positions_ = parameters.of(*spec.positions);
}

at::Tensor Embedding::forward(const at::Tensor& tokens_BT, Tape& tape) const {
  tape.keep(tokens_BT);
  at::Tensor x_BTC = at::embedding(tokens_.value, tokens_BT);
  if (positions_) x_BTC = x_BTC.add(positions_->value.narrow(0, 0, tokens_BT.size(1)));
  return drop(x_BTC, {0, DropoutSite::kEmbedding}, tape);
}

at::Tensor Embedding::backward(const at::Tensor& dy_BTC, Tape& tape, ParameterGradients& gradients) const {
  const at::Tensor dx_BTC = drop_backward(dy_BTC, tape);
  const at::Tensor tokens_BT = tape.take();
  gradients.set(tokens_, at::embedding_dense_backward(dx_BTC, tokens_BT, tokens_.value.size(0), -1, false));
  if (positions_) gradients.set(*positions_, gradient_of_positions(dx_BTC));
  return {};
}

at::Tensor Embedding::gradient_of_positions(const at::Tensor& dx_BTC) const {
  const at::Tensor seen_TC = dx_BTC.sum(0);
  if (seen_TC.sizes() == positions_->value.sizes()) return seen_TC;
  const at::Tensor all = at::zeros_like(positions_->value);
  all.narrow(0, 0, seen_TC.size(0)).copy_(seen_TC);
  return all;
}

}  // namespace shoal
