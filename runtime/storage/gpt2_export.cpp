// Names, shapes and config.json of GPT-2 as transformers has them.
#include "runtime/storage/gpt2_export.h"

#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "runtime/base/compose.h"
#include "runtime/storage/gpt2_layout.h"
#include "runtime/storage/safetensors.h"

namespace shoal {
namespace {

Status check(const std::vector<StoredTensor>& tensors, const TensorShapes& shapes) {
  for (const auto& [name, shape] : shapes) {
    const auto* tensor = find_tensor(tensors, name);
    if (tensor == nullptr) return fail(Error::kInvalidData, compose("the checkpoint has no tensor ", name));
    if (tensor->dtype != DType::kFloat32 || tensor->shape != shape) {
      return fail(Error::kInvalidData, compose("the checkpoint's ", name, " is ", shape_text(tensor->shape),
                                               ", the run's configuration says float32 ", shape_text(shape)));
    }
  }
  for (const auto& tensor : tensors) {
    if (shapes.contains(tensor.name)) continue;
    return fail(Error::kInvalidData, compose("the checkpoint's ", tensor.name, " has no place in GPT-2"));
  }
  return Done{};
}

std::string config_json(const ModelConfig& model, std::optional<std::int32_t> end_of_text) {
  nlohmann::ordered_json json;
  json["model_type"] = "gpt2";
  json["architectures"] = {"GPT2LMHeadModel"};
  json["n_layer"] = model.layers;
  json["n_head"] = model.heads;
  json["n_embd"] = model.width;
  json["n_inner"] = nullptr;
  json["n_positions"] = model.context;
  json["n_ctx"] = model.context;
  json["vocab_size"] = model.vocabulary;
  json["activation_function"] = "gelu_new";
  json["layer_norm_epsilon"] = 1e-5;
  json["initializer_range"] = model.init_std;
  json["embd_pdrop"] = model.dropout;
  json["resid_pdrop"] = model.dropout;
  json["attn_pdrop"] = 0.0;
  json["scale_attn_weights"] = true;
  json["scale_attn_by_inverse_layer_idx"] = false;
  json["reorder_and_upcast_attn"] = false;
  json["tie_word_embeddings"] = false;
  json["use_cache"] = true;
  const nlohmann::ordered_json end = end_of_text ? nlohmann::ordered_json(*end_of_text) : nullptr;
  json["bos_token_id"] = end;
  json["eos_token_id"] = end;
  json["torch_dtype"] = "float32";
  return json.dump(2) + "\n";
}

}  // namespace

Result<Gpt2Export> export_gpt2(const CheckpointManifest& manifest, const TensorBlob& weights, const ModelConfig& model,
                               std::optional<std::int32_t> end_of_text) {
  CHECK(weights.has_value(), "there is an image to export");
  auto tensors = parse_safetensors({weights.bytes->data(), weights.byte_count()}, "the checkpoint's weights");
  if (!tensors) return tensors.failure();
  if (auto checked = check(tensors.value(), gpt2_shapes(model)); !checked) return checked.failure();
  for (auto& tensor : tensors.value()) {
    if (tensor.name != "lm_head.weight") tensor.name = "transformer." + tensor.name;
  }
  // transformers refuses a file whose metadata does not name the framework.
  const std::map<std::string, std::string> metadata = {{"format", "pt"},
                                                       {"run", manifest.run},
                                                       {"step", compose(manifest.step)},
                                                       {"weights_sha256", manifest.weights_sha256}};
  return Gpt2Export{config_json(model, end_of_text), build_safetensors(std::move(tensors.value()), metadata)};
}

}  // namespace shoal
