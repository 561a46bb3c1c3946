// A stage of a transformer: the layers of its plan (layer_list.h), as parts in a row.
//
// The same operators are called in the same order whatever the cut, so that a model cut in stages computes the same
// bits as a whole one. Immutable; several passes may be on their way, each with a tape of its own.
// Shape letters: B sequences, T tokens, C width, V vocabulary.
#pragma once

#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

#include "model/partition.h"
#include "model/parts/part.h"
#include "runtime/base/config.h"

namespace shoal {

class Transformer {
 public:
  // `weights`: every tensor of the plan, float32, of its shape (ensured). They are shared, not copied; with
  // model.precision = bf16 products read copies of them in bf16.
  Transformer(const ModelConfig& model, const StagePlan& plan, const WeightMap& weights,
              const DeviceSupport& device = {});
  // To be called when the weights' memory has changed: writes those copies anew that the device has not given.
  void weights_changed() const;

  // input: tokens int32 or int64 [B,T] when the stage has the embedding, else the activation float32 [B,T,C].
  // Returns logits float32 [B,T,V] when it has the head, else the activation float32 [B,T,C]. T <= context (ensured).
  // The operators are differentiable by autograd, which the tests of backward() use.
  [[nodiscard]] at::Tensor forward(const at::Tensor& input, Tape& tape) const;
  // Without a tape: nothing is kept, and nothing dropped.
  [[nodiscard]] at::Tensor forward(const at::Tensor& input) const;

  // gradient: of what forward returned; `tape` is that forward's and is used up. Sets the gradient of every parameter
  // and returns the input's: undefined when the stage has the embedding.
  [[nodiscard]] at::Tensor backward(at::Tensor gradient, Tape& tape, ParameterGradients& gradients) const;

 private:
  int context_;
  bool has_embedding_;
  std::shared_ptr<Bf16Copies> copies_;  // none in float32
  std::vector<std::unique_ptr<ModelPart>> parts_;
};

}  // namespace shoal
