// Hugging Face's GPT-2 as a checkpoint's weights: the inverse of gpt2_export.h.
//
//   config.json        ──▶ the [model] keys and whether the head is tied; a feature that this model lacks is refused
//   model.safetensors  ──▶ our names, float32: `transformer.` in front is optional;
//                          F32, F16 and BF16 are read exactly
//
// A tied head is a copy of wte.weight and trains apart from it. The attention masks that older files hold among the
// weights (h.N.attn.bias, h.N.attn.masked_bias) are left out. Pure: contents in, contents out.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/config.h"
#include "runtime/base/error.h"
#include "runtime/storage/safetensors.h"

namespace shoal {

struct Gpt2Description {
  ModelConfig model;
  bool head_is_tied = true;  // the default of transformers where config.json is silent
};

// config.json. Errors: kInvalidData naming the key, its value and what this model has; `where` is the path for the
// sentence.
[[nodiscard]] Result<Gpt2Description> parse_gpt2_config(const std::string& text, const std::string& where);

// Every weight of the model, float32, ascending by name.
struct Gpt2Weights {
  std::vector<StoredTensor> tensors;                      // they point into the file or into `converted`
  std::vector<std::unique_ptr<AlignedBuffer>> converted;  // tensors that the file has in another type

  // Ascending by name: those of the names given. CHECKs that they exist.
  [[nodiscard]] std::vector<StoredTensor> of(const std::vector<std::string>& names) const;
};

// file: the bytes of model.safetensors, which must outlive the result. Errors: kInvalidData naming a tensor that is
// missing, foreign, there twice, or of another type or shape than config.json says.
[[nodiscard]] Result<Gpt2Weights> import_gpt2(std::span<const std::byte> file, const Gpt2Description& description,
                                              const std::string& where);

}  // namespace shoal
