// LlamaConfig and Qwen3Config. Rotary positions stand in `rope_parameters` since transformers 5, before that in
// `rope_theta` and `rope_scaling`; both are read, both are written.
#include <algorithm>
#include <set>
#include <string>

#include "runtime/base/compose.h"
#include "runtime/storage/hugging_face/description_fields.h"

namespace shoal {
namespace {

using Json = nlohmann::json;

// Returns the key of the file that says how positions are turned; the last that it may have, if it has none.
const char* rope_key(const Json& json) {
  return json.value("rope_parameters", Json()).is_null() ? "rope_scaling" : "rope_parameters";
}

// Reads a model that was made before version 5 into the words of that version.
Json rope_of(const Json& json) {
  Json rope = json.value(rope_key(json), Json());
  if (rope.is_null()) rope = Json::object();
  if (!rope.is_object()) return rope;
  if (!rope.contains("rope_type")) rope["rope_type"] = rope.value("type", Json("default"));
  return rope;
}

// Refuses what is said of rotary positions that is not read: parameters for each type of layer, and for a part of a
// head.
Status check_rope(const Json& rope) {
  if (!rope.is_object()) {
    return fail(Error::kInvalidData, compose("the parameters of rotary positions are ", rope.dump(), ", no object"));
  }
  const std::set<std::string> known = {"rope_theta",
                                       "rope_type",
                                       "type",
                                       "factor",
                                       "low_freq_factor",
                                       "high_freq_factor",
                                       "original_max_position_embeddings"};
  for (const auto& [name, value] : rope.items()) {
    const bool says_nothing = value.is_null() || (name == "partial_rotary_factor" && value == 1.0);
    if (known.contains(name) || says_nothing) continue;
    return fail(Error::kInvalidData, compose("rotary positions have ", name, " = ", value.dump(),
                                             ", which this model does not know; it has one set of parameters for all "
                                             "layers"));
  }
  return Done{};
}

// Other types of layers look at a part of the context.
Status check_layer_types(const Json& json) {
  const Json types = json.value("layer_types", Json());
  if (types.is_null()) return Done{};
  for (const Json& type : types) {
    if (type == "full_attention") continue;
    return fail(Error::kInvalidData, compose("layer_types has ", type.dump(), ", and this model has full_attention"));
  }
  return Done{};
}

Status take_rope(const Json& json, ModelDescription& out) {
  const Json rope = rope_of(json);
  if (auto status = check_rope(rope); !status) return status;
  ModelConfig& model = out.model;
  const std::string below = compose(rope_key(json), ".");
  const bool has_own_theta = !rope.value("rope_theta", Json()).is_null();
  const std::vector<RealKey> theta = {{"rope_theta", "model.rope_theta", &model.rope_theta}};
  auto status = take_reals(has_own_theta ? rope : json, theta, Absent::kKeeps, out, has_own_theta ? below : "");
  if (!status) return status;
  const Json& type = rope.at("rope_type");
  if (type == "default") return Done{};
  if (type != "linear" && type != "llama3") {
    return fail(Error::kInvalidData,
                compose("rope_type = ", type.dump(), R"(, and this model has "default", "linear" and "llama3")"));
  }
  model.rope_scaling = type == "linear" ? RopeScaling::kLinear : RopeScaling::kLlama3;
  std::vector<RealKey> factors = {{"factor", "model.rope_factor", &model.rope_factor}};
  if (type == "llama3") {
    factors.push_back({"low_freq_factor", "model.rope_low_freq_factor", &model.rope_low_freq_factor});
    factors.push_back({"high_freq_factor", "model.rope_high_freq_factor", &model.rope_high_freq_factor});
  }
  status = take_reals(rope, factors, Absent::kIsRefused, out, below);
  if (!status || type == "linear") return status;
  return take_sizes(rope,
                    {{"original_max_position_embeddings", "model.rope_original_context", &model.rope_original_context}},
                    out, below);
}

Status take_llama_sizes(const Json& json, ModelDescription& out) {
  ModelConfig& model = out.model;
  model.layers = model.heads = model.width = model.hidden = model.context = model.vocabulary = 0;
  const std::vector<SizeKey> first = {{"num_hidden_layers", "model.layers", &model.layers},
                                      {"num_attention_heads", "model.heads", &model.heads},
                                      {"hidden_size", "model.width", &model.width},
                                      {"intermediate_size", "model.hidden", &model.hidden},
                                      {"max_position_embeddings", "model.context", &model.context},
                                      {"vocab_size", "model.vocabulary", &model.vocabulary}};
  if (auto status = take_sizes(json, first, out); !status) return status;
  // Absent: each head its own keys, and the heads share the width.
  model.kv_heads = model.heads;
  model.head_size = std::max(1, model.width / model.heads);
  return take_sizes(
      json,
      {{"num_key_value_heads", "model.kv_heads", &model.kv_heads}, {"head_dim", "model.head_size", &model.head_size}},
      out);
}

}  // namespace

Result<ModelDescription> describe_llama(const Json& json) {
  const std::vector<FixedKey> fixed = {
      {"hidden_act", "silu"},        {"attention_bias", false},        {"mlp_bias", false},
      {"use_sliding_window", false}, {"pruned_heads", Json::object()}, {"partial_rotary_factor", 1.0}};
  if (auto status = check_fixed(json, fixed); !status) return status.failure();
  if (auto status = check_layer_types(json); !status) return status.failure();
  ModelDescription out;
  out.model.kind = ModelKind::kLlama;
  out.model.qk_norm = json.at("model_type") == "qwen3";
  if (auto status = take_llama_sizes(json, out); !status) return status.failure();
  // The parts that the file does not name are this model's own: whoever chooses others is told so.
  for (const char* key : {"theta", "scaling", "factor", "low_freq_factor", "high_freq_factor", "original_context"}) {
    out.names[std::string("model.rope_") + key] = rope_key(json);
  }
  // Absent: transformers' defaults. Its attention_dropout acts where this model has none.
  out.model.rope_theta = 10000;
  out.model.norm_eps = 1e-6;
  out.model.init_std = 0.02;
  out.head_is_tied = false;
  if (auto status = take_rope(json, out); !status) return status.failure();
  const std::vector<RealKey> named = {{"rms_norm_eps", "model.norm_eps", &out.model.norm_eps}};
  if (auto status = take_reals(json, named, Absent::kKeeps, out); !status) return status.failure();
  ModelDescription unnamed;  // a run may choose it otherwise
  const std::vector<RealKey> free = {{"initializer_range", "model.init_std", &out.model.init_std}};
  if (auto status = take_reals(json, free, Absent::kKeeps, unnamed); !status) return status.failure();
  if (auto status = take_flag(json, "tie_word_embeddings", out.head_is_tied); !status) return status.failure();
  out.names["model.kind"] = out.names["model.qk_norm"] = "model_type";
  return out;
}

nlohmann::ordered_json llama_json(const ModelConfig& model) {
  nlohmann::ordered_json json;
  json["model_type"] = model.qk_norm ? "qwen3" : "llama";
  json["architectures"] = {model.qk_norm ? "Qwen3ForCausalLM" : "LlamaForCausalLM"};
  json["num_hidden_layers"] = model.layers;
  json["num_attention_heads"] = model.heads;
  json["num_key_value_heads"] = kv_heads_of(model);
  json["head_dim"] = head_size_of(model);
  json["hidden_size"] = model.width;
  json["intermediate_size"] = hidden_of(model);
  json["max_position_embeddings"] = model.context;
  json["vocab_size"] = model.vocabulary;
  json["hidden_act"] = "silu";
  json["rms_norm_eps"] = model.norm_eps;
  json["attention_bias"] = false;
  json["attention_dropout"] = 0.0;
  if (model.qk_norm) {
    json["use_sliding_window"] = false;
  } else {
    json["mlp_bias"] = false;
  }
  json["initializer_range"] = model.init_std;
  nlohmann::ordered_json rope;
  rope["rope_type"] = "default";
  if (model.rope_scaling != RopeScaling::kNone) {
    rope["rope_type"] = model.rope_scaling == RopeScaling::kLinear ? "linear" : "llama3";
    rope["factor"] = model.rope_factor;
  }
  if (model.rope_scaling == RopeScaling::kLlama3) {
    rope["low_freq_factor"] = model.rope_low_freq_factor;
    rope["high_freq_factor"] = model.rope_high_freq_factor;
    rope["original_max_position_embeddings"] = model.rope_original_context;
  }
  json["rope_theta"] = model.rope_theta;
  json["rope_scaling"] = model.rope_scaling == RopeScaling::kNone ? nlohmann::ordered_json(nullptr) : rope;
  rope["rope_theta"] = model.rope_theta;
  json["rope_parameters"] = rope;
  return json;
}

}  // namespace shoal
