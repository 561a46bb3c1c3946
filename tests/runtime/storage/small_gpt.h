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
#include "runtime/storage/gpt2_layout.h"
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

// Tensors in the making: by name, with values that no other has.
struct MadeTensor {
  std::vector<std::int64_t> shape;
  std::vector<float> values;
};
using MadeTensors = std::map<std::string, MadeTensor>;

inline MadeTensors weights_of_small_gpt() {
  MadeTensors made;
  float next = 0.5F;
  for (const auto& [name, shape] : gpt2_shapes(small_gpt())) {
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
