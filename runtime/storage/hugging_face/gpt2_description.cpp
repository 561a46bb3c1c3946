// GPT2Config.
#include "runtime/base/compose.h"
#include "runtime/storage/hugging_face/description_fields.h"

namespace shoal {

using Json = nlohmann::json;

Result<ModelDescription> describe_gpt2(const Json& json) {
  const std::vector<FixedKey> fixed = {{"activation_function", "gelu_new"}, {"layer_norm_epsilon", 1e-5},
                                       {"scale_attn_weights", true},        {"scale_attn_by_inverse_layer_idx", false},
                                       {"add_cross_attention", false},      {"pruned_heads", Json::object()}};
  if (auto status = check_fixed(json, fixed); !status) return status.failure();
  ModelDescription out;
  ModelConfig& model = out.model;
  model.layers = model.heads = model.width = model.context = model.vocabulary = 0;
  const std::vector<SizeKey> sizes = {{"n_layer", "model.layers", &model.layers},
                                      {"n_head", "model.heads", &model.heads},
                                      {"n_embd", "model.width", &model.width},
                                      {"n_positions", "model.context", &model.context},
                                      {"vocab_size", "model.vocabulary", &model.vocabulary}};
  if (auto status = take_sizes(json, sizes, out); !status) return status.failure();
  const auto inner = json.find("n_inner");
  const bool is_usual = inner == json.end() || inner->is_null() || *inner == 4 * std::int64_t{model.width};
  if (!is_usual)
    return fail(Error::kInvalidData, compose("n_inner = ", inner->dump(), ", and this model has 4 x n_embd"));
  // Absent: transformers' defaults. Of its three dropouts this model has one, which acts where resid_pdrop does.
  model.dropout = 0.1;
  model.init_std = 0.02;
  ModelDescription unnamed;  // a run may choose both otherwise
  const std::vector<RealKey> reals = {{"resid_pdrop", "model.dropout", &model.dropout},
                                      {"initializer_range", "model.init_std", &model.init_std}};
  if (auto status = take_reals(json, reals, Absent::kKeeps, unnamed); !status) return status.failure();
  if (auto status = take_flag(json, "tie_word_embeddings", out.head_is_tied); !status) return status.failure();
  out.names["model.kind"] = "model_type";
  return out;
}

nlohmann::ordered_json gpt2_json(const ModelConfig& model) {
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
  return json;
}

}  // namespace shoal
