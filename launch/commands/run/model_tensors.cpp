// Walks the list once.
#include "launch/commands/run/model_tensors.h"

#include <variant>

#include "model/layer_list.h"

namespace shoal {

ModelTensors model_tensors(const ModelConfig& model) {
  ModelTensors tensors;
  for (const LayerSpec& layer : model_layers(model)) {
    for (const PartSpec& part : layer.parts) {
      for (const TensorSpec& tensor : tensors_of(part)) tensors.shapes[tensor.name] = tensor.shape;
      if (const auto* embedding = std::get_if<EmbeddingSpec>(&part)) tensors.embedding = embedding->tokens.name;
      if (const auto* head = std::get_if<HeadSpec>(&part)) tensors.head = head->projection.weight.name;
    }
  }
  return tensors;
}

}  // namespace shoal
