// A checkpoint's weights as transformers loads them: config.json and model.safetensors.
//
// Our tensors already have the orientation and the names of transformers (layer_list.h), so that exporting is naming:
//   wte.weight, h.0.attn.c_attn.weight, ... ──▶ transformer.wte.weight, transformer.h.0.attn.c_attn.weight, ...
//   lm_head.weight, and a Llama's weights   ──▶ as they are (the head untied: config.json says so)
// Pure: contents in, contents out. Names as save_pretrained writes them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "messages/tensor_blob.h"
#include "runtime/base/config.h"
#include "runtime/base/error.h"
#include "runtime/storage/checkpoint_manifest.h"
#include "runtime/storage/hugging_face/model_tensors.h"

namespace shoal {

struct ExportedModel {
  std::string config_json;  // config.json
  TensorBlob model;         // model.safetensors, uint8 [n]
};

// weights: a safetensors image of every weight of the model, as Checkpoint::weights_image() gives it. Errors:
// kInvalidData naming a tensor that is missing, foreign or of another shape than `tensors` says. end_of_text: see
// description.h.
[[nodiscard]] Result<ExportedModel> export_model(const CheckpointManifest& manifest, const TensorBlob& weights,
                                                 const ModelConfig& model, const ModelTensors& tensors,
                                                 std::optional<std::int32_t> end_of_text = std::nullopt);

}  // namespace shoal
