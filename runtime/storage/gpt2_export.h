// A checkpoint's weights as Hugging Face's GPT-2: the files that transformers' GPT2LMHeadModel loads.
//
// Our tensors already have GPT-2's orientation (the c_ matrices are [in, out]), so that exporting is naming:
//   wte.weight, h.0.attn.c_attn.weight, ... ──▶ transformer.wte.weight, transformer.h.0.attn.c_attn.weight, ...
//   lm_head.weight                          ──▶ lm_head.weight        (untied: config.json says so)
// Pure: contents in, contents out. Names as GPT2LMHeadModel.save_pretrained writes them; config keys as GPT2Config's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "messages/tensor_blob.h"
#include "runtime/base/config.h"
#include "runtime/base/error.h"
#include "runtime/storage/checkpoint_manifest.h"

namespace shoal {

struct Gpt2Export {
  std::string config_json;  // config.json
  TensorBlob model;         // model.safetensors, uint8 [n]
};

// weights: a safetensors image of every weight of the model, as Checkpoint::weights_image() gives it. Errors:
// kInvalidData naming a tensor that is missing, foreign or of another shape than `model` says.
// end_of_text: the token at which transformers ends a text that it writes; none: it writes as many as it is asked for.
[[nodiscard]] Result<Gpt2Export> export_gpt2(const CheckpointManifest& manifest, const TensorBlob& weights,
                                             const ModelConfig& model,
                                             std::optional<std::int32_t> end_of_text = std::nullopt);

}  // namespace shoal
