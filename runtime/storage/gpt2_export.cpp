// Names, shapes and config.json of GPT-2 as transformers has them.
#include "runtime/storage/gpt2_export.h"

#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "runtime/base/compose.h"
#include "runtime/storage/safetensors.h"

namespace shoal {
namespace {

using Shapes = std::map<std::string, std::vector<std::int64_t>>;

void add_layer(Shapes& shapes, int layer, std::int64_t width) {
  const std::string prefix = compose("h.", layer, ".");
  for (const char* norm : {"ln_1", "ln_2"}) {
    shapes[prefix + norm + ".weight"] = {width};
    shapes[prefix + norm + ".bias"] = {width};
  }
  const auto add_projection = [&](const char* name, std::int64_t in, std::int64_t out) {
    shapes[prefix + name + ".weight"] = {in, out};
    shapes[prefix + name + ".bias"] = {out};
  };
  add_projection("attn.c_attn", width, 3 * width);
  add_projection("attn.c_proj", width, width);
  add_projection("mlp.c_fc", width, 4 * width);
  add_projection("mlp.c_proj", 4 * width, width);
}

Shapes shapes_of(const ModelConfig& model) {
  Shapes shapes;
  shapes["wte.weight"] = {model.vocabulary, model.width};
  shapes["wpe.weight"] = {model.context, model.width};
  for (int layer = 0; layer < model.layers; ++layer) add_layer(shapes, layer, model.width);
  shapes["ln_f.weight"] = {model.width};
  shapes["ln_f.bias"] = {model.width};
  shapes["lm_head.weight"] = {model.vocabulary, model.width};
  return shapes;
}

std::string text_of(const std::vector<std::int64_t>& shape) { return nlohmann::json(shape).dump(); }

Status check(const std::vector<StoredTensor>& tensors, const Shapes& shapes) {
  for (const auto& [name, shape] : shapes) {
    const auto* tensor = find_tensor(tensors, name);
    if (tensor == nullptr) return fail(Error::kInvalidData, compose("the checkpoint has no tensor ", name));
    if (tensor->dtype != DType::kFloat32 || tensor->shape != shape) {
      return fail(Error::kInvalidData, compose("the checkpoint's ", name, " is ", text_of(tensor->shape),
                                               ", the run's configuration says float32 ", text_of(shape)));
    }
  }
  for (const auto& tensor : tensors) {
    if (shapes.contains(tensor.name)) continue;
    return fail(Error::kInvalidData, compose("the checkpoint's ", tensor.name, " has no place in GPT-2"));
  }
  return Done{};
}

std::string config_json(const ModelConfig& model) {
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
  json["bos_token_id"] = nullptr;
  json["eos_token_id"] = nullptr;
  json["torch_dtype"] = "float32";
  return json.dump(2) + "\n";
}

}  // namespace

Result<Gpt2Export> export_gpt2(const CheckpointManifest& manifest, const TensorBlob& weights,
                               const ModelConfig& model) {
  CHECK(weights.has_value(), "there is an image to export");
  auto tensors = parse_safetensors({weights.bytes->data(), weights.byte_count()}, "the checkpoint's weights");
  if (!tensors) return tensors.failure();
  if (auto checked = check(tensors.value(), shapes_of(model)); !checked) return checked.failure();
  for (auto& tensor : tensors.value()) {
    if (tensor.name != "lm_head.weight") tensor.name = "transformer." + tensor.name;
  }
  // transformers refuses a file whose metadata does not name the framework.
  const std::map<std::string, std::string> metadata = {{"format", "pt"},
                                                       {"run", manifest.run},
                                                       {"step", compose(manifest.step)},
                                                       {"weights_sha256", manifest.weights_sha256}};
  return Gpt2Export{config_json(model), build_safetensors(std::move(tensors.value()), metadata)};
}

}  // namespace shoal
