// GPT-2's forward pass over the layers of one stage.
//
// Learned positions, pre-norm (eps 1e-5), fused causal attention, tanh-GELU, MLP of 4 x width, untied head without
// bias. Radford et al., "Language Models are Unsupervised Multitask Learners" (2019). The same operators are called in
// the same order whatever the cut, so that a model cut in stages computes the same bits as a whole one.
// Shape letters: B sequences, T tokens, C width, V vocabulary.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "model/dropout.h"
#include "model/partition.h"
#include "runtime/base/config.h"

namespace shoal {

using WeightMap = std::map<std::string, at::Tensor>;

class Transformer {
 public:
  // `weights`: every tensor of the plan, float32, of its shape (CHECKed). They are shared, not copied.
  Transformer(const ModelConfig& model, const StagePlan& plan, const WeightMap& weights);

  // input: tokens int32 or int64 [B,T] when the stage has the embedding, else the activation float32 [B,T,C].
  // Returns logits float32 [B,T,V] when it has the head, else the activation float32 [B,T,C]. T <= context (CHECKed).
  [[nodiscard]] at::Tensor forward(const at::Tensor& input, const Dropout& dropout) const;

 private:
  struct Norm {
    at::Tensor weight, bias;
  };
  struct Projection {
    at::Tensor weight_io, bias;  // [in, out] as in GPT-2's checkpoints
  };
  struct Layer {
    int index = 0;
    Norm ln_1, ln_2;
    Projection attn_c_attn, attn_c_proj, mlp_c_fc, mlp_c_proj;
  };

  [[nodiscard]] at::Tensor embed(const at::Tensor& tokens_BT, const Dropout& dropout) const;
  [[nodiscard]] at::Tensor attend(const Layer& layer, const at::Tensor& x_BTC) const;
  [[nodiscard]] at::Tensor transform(const Layer& layer, const at::Tensor& x_BTC) const;
  [[nodiscard]] at::Tensor norm(const Norm& norm, const at::Tensor& x_BTC) const;

  int heads_;
  int width_;
  int context_;
  bool has_embedding_;
  bool has_head_;
  at::Tensor wte_, wpe_;
  std::vector<Layer> layers_;
  Norm ln_f_;
  at::Tensor lm_head_;
};

// Sum over the targets >= 0 of -log softmax(logits), float32 []; targets_BT: int64, -1 is not counted.
[[nodiscard]] at::Tensor loss_sum(const at::Tensor& logits_BTV, const at::Tensor& targets_BT);

}  // namespace shoal
