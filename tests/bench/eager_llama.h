// A llama's forward pass as a PyTorch program writes it, for the eager loop: operator by operator, as transformers
// does.
#pragma once

#include <torch/types.h>

#include <map>
#include <string>

#include "runtime/base/config.h"

namespace shoal {

// tokens: int64 [B,T]; weights by their names in transformers' LlamaForCausalLM. Returns logits [B,T,V].
[[nodiscard]] torch::Tensor eager_llama(const ModelConfig& model, const std::map<std::string, torch::Tensor>& weights,
                                        const torch::Tensor& tokens);

}  // namespace shoal
