// Causal attention with its projections: queries in groups that share a key and a value, optional norms over the
// elements of a head, optional rotary positions. Fused (FlashAttention's algorithm, Dao et al., 2022).
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "model/layer_list.h"
#include "model/parts/part.h"
#include "model/parts/projection.h"
#include "model/parts/rotary.h"

namespace shoal {

class Attention final : public ModelPart {
 public:
  Attention(const AttentionSpec& spec, const Parameters& parameters);

  [[nodiscard]] at::Tensor forward(const at::Tensor& x_BTC, Tape& tape) const override;
  [[nodiscard]] at::Tensor backward(const at::Tensor& dy_BTC, Tape& tape, ParameterGradients& gradients) const override;

 private:
  // Queries, keys, values.
  [[nodiscard]] std::vector<at::Tensor> project(const at::Tensor& x_BTC, Tape& tape) const;
  [[nodiscard]] at::Tensor unproject(const std::vector<at::Tensor>& gradients_BTC, Tape& tape,
                                     ParameterGradients& gradients) const;
  // Cuts into heads, [B,H,T,D], normalises and turns them; and the way back.
  [[nodiscard]] at::Tensor to_heads(const at::Tensor& x_BTC, const ModelPart* norm, const std::optional<Rotary>& rotary,
                                    Tape& tape) const;
  [[nodiscard]] at::Tensor from_heads(const at::Tensor& dy_BHTD, const ModelPart* norm,
                                      const std::optional<Rotary>& rotary, Tape& tape,
                                      ParameterGradients& gradients) const;
  // Repeats a key or value for each query of its group; and the sum over them.
  [[nodiscard]] at::Tensor spread(const at::Tensor& x_BHTD) const;
  [[nodiscard]] at::Tensor gather(const at::Tensor& dy_BHTD) const;

  at::ScalarType product_type_;  // of queries, keys, values and what comes of them; norms and turns are float32
  std::int64_t heads_;
  std::int64_t kv_heads_;
  std::int64_t head_size_;
  std::vector<std::unique_ptr<Projection>> in_;
  std::unique_ptr<ModelPart> query_norm_, key_norm_;
  std::optional<Rotary> rotary_;
  Projection out_;
};

}  // namespace shoal
