// The weights of GPT-2 by our names: what an export needs all of, and an import brings.
// The names are those of transformers' GPT2LMHeadModel without `transformer.` in front.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/base/config.h"

namespace shoal {

using TensorShapes = std::map<std::string, std::vector<std::int64_t>>;

// Every weight of the model with its shape; the c_ matrices are [in, out].
[[nodiscard]] TensorShapes gpt2_shapes(const ModelConfig& model);

// [768,2304], for sentences.
[[nodiscard]] std::string shape_text(const std::vector<std::int64_t>& shape);

}  // namespace shoal
