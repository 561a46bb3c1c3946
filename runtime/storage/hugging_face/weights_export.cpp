// Checks the image against the model's list of tensors, then renames.
#include "runtime/storage/hugging_face/weights_export.h"

#include <map>
#include <vector>

#include "runtime/base/compose.h"
#include "runtime/storage/hugging_face/description.h"
#include "runtime/storage/safetensors.h"

namespace shoal {
namespace {

Status check(const std::vector<StoredTensor>& tensors, const ModelTensors& model) {
  for (const auto& [name, shape] : model.shapes) {
    const auto* tensor = find_tensor(tensors, name);
    if (tensor == nullptr) return fail(Error::kInvalidData, compose("the checkpoint has no tensor ", name));
    if (tensor->dtype != DType::kFloat32 || tensor->shape != shape) {
      return fail(Error::kInvalidData, compose("the checkpoint's ", name, " is ", shape_text(tensor->shape),
                                               ", the run's configuration says float32 ", shape_text(shape)));
    }
  }
  for (const auto& tensor : tensors) {
    if (model.shapes.contains(tensor.name)) continue;
    return fail(Error::kInvalidData, compose("the checkpoint's ", tensor.name, " has no place in this model"));
  }
  return Done{};
}

}  // namespace

Result<ExportedModel> export_model(const CheckpointManifest& manifest, const TensorBlob& weights,
                                   const ModelConfig& model, const ModelTensors& tensors,
                                   std::optional<std::int32_t> end_of_text) {
  ENSURE(weights.has_value(), "there is an image to export");
  auto stored = parse_safetensors({weights.bytes->data(), weights.byte_count()}, "the checkpoint's weights");
  if (!stored) return stored.failure();
  if (auto checked = check(*stored, tensors); !checked) return checked.failure();
  for (auto& tensor : *stored) {
    if (tensor.name != tensors.head) tensor.name = prefix_of(model.kind) + tensor.name;
  }
  // transformers refuses a file whose metadata does not name the framework.
  const std::map<std::string, std::string> metadata = {{"format", "pt"},
                                                       {"run", manifest.run},
                                                       {"step", compose(manifest.step)},
                                                       {"weights_sha256", manifest.weights_sha256}};
  return ExportedModel{description_json(model, end_of_text), build_safetensors(std::move(*stored), metadata)};
}

}  // namespace shoal
