// A GPT-2 so small that a test can look at each of its numbers: two layers, width 4, vocabulary 5.
// No two of its weights are equal, so that none can stand for another.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/config.h"
#include "runtime/storage/hugging_face/model_tensors.h"
#include "runtime/storage/safetensors.h"

namespace shoal {

inline ModelConfig small_gpt() {
  ModelConfig model;
  model.layers = 2;
  model.heads = 2;
  model.width = 4;
  model.context = 3;
  model.vocabulary = 5;
  return model;
}

// Its tensors, written down once more: what an export and an import are told.
inline ModelTensors tensors_of_gpt(const ModelConfig& model) {
  ModelTensors tensors;
  auto& shapes = tensors.shapes;
  const std::int64_t width = model.width;
  shapes[tensors.embedding = "wte.weight"] = {model.vocabulary, width};
  shapes[tensors.head = "lm_head.weight"] = {model.vocabulary, width};
  shapes["wpe.weight"] = {model.context, width};
  const auto add = [&shapes](const std::string& name, const std::vector<std::int64_t>& weight) {
    shapes[name + ".weight"] = weight;
    shapes[name + ".bias"] = {weight.back()};
  };
  for (int layer = 0; layer < model.layers; ++layer) {
    const std::string prefix = "h." + std::to_string(layer) + ".";
    for (const char* norm : {"ln_1", "ln_2"}) add(prefix + norm, {width});
    add(prefix + "attn.c_attn", {width, 3 * width});
    add(prefix + "attn.c_proj", {width, width});
    add(prefix + "mlp.c_fc", {width, 4 * width});
    add(prefix + "mlp.c_proj", {4 * width, width});
  }
  add("ln_f", {width});
  return tensors;
}

// Tensors in the making: by name, with values that no other has.
struct MadeTensor {
  std::vector<std::int64_t> shape;
  std::vector<float> values;
};
using MadeTensors = std::map<std::string, MadeTensor>;

inline MadeTensors weights_of_small_gpt() {
  MadeTensors made;
  float next = 0.5F;
  for (const auto& [name, shape] : tensors_of_gpt(small_gpt()).shapes) {
    std::size_t count = 1;
    for (const auto extent : shape) count *= static_cast<std::size_t>(extent);
    MadeTensor tensor{shape, std::vector<float>(count)};
    for (float& value : tensor.values) value = next += 0.25F;
    made[name] = std::move(tensor);
  }
  return made;
}

inline TensorBlob image_of(const MadeTensors& made) {
  std::vector<StoredTensor> tensors;
  for (const auto& [name, tensor] : made) {
    tensors.push_back({name, DType::kFloat32, tensor.shape, std::as_bytes(std::span<const float>(tensor.values))});
  }
  return build_safetensors(std::move(tensors));
}

inline std::span<const std::byte> bytes_of(const TensorBlob& image) {
  return {image.bytes->data(), image.byte_count()};
}

}  // namespace shoal
