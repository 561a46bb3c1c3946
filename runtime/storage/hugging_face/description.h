// config.json of transformers: GPT-2, Llama and Qwen3, both ways.
//
//   model_type gpt2     model.kind = gpt2
//   model_type llama    model.kind = llama
//   model_type qwen3    model.kind = llama with model.qk_norm
//
// Refuses by name what this model does not do: another activation, biases, another scaling of rotary positions.
// Pure: text in, text out. Keys as GPT2Config, LlamaConfig and Qwen3Config have them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "runtime/base/config.h"
#include "runtime/base/error.h"

namespace shoal {

struct ModelDescription {
  ModelConfig model;  // with the context that the file allows at most
  bool head_is_tied = true;
  std::map<std::string, std::string> names;  // of keys here ("model.layers") in the file ("n_layer")
};

// Errors: kInvalidData naming the key, its value and what this model has; `where` is the path for the sentence.
[[nodiscard]] Result<ModelDescription> parse_description(const std::string& text, const std::string& where);

// end_of_text: the token at which transformers ends a text that it writes; none: it writes as many as it is asked for.
[[nodiscard]] std::string description_json(const ModelConfig& model, std::optional<std::int32_t> end_of_text);

// Returns the prefix of the names of this model's weights in the file, but for the head's: "transformer." or nothing.
[[nodiscard]] std::string prefix_of(ModelKind kind);
// True for a constant that older files hold among the weights: a causal mask, frequencies of rotary positions.
[[nodiscard]] bool is_constant(ModelKind kind, const std::string& name);

}  // namespace shoal
