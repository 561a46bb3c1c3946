// Chooses the layout by model_type; what both share.
#include "runtime/storage/hugging_face/description.h"

#include <nlohmann/json.hpp>

#include "runtime/base/compose.h"
#include "runtime/storage/hugging_face/description_fields.h"

namespace shoal {
namespace {

using Json = nlohmann::json;

Result<ModelDescription> describe(const Json& json) {
  if (!json.is_object()) return fail(Error::kInvalidData, "it is no JSON object");
  const Json of_oldest = json.contains("n_embd") ? Json("gpt2") : Json();  // GPT-2's first files have no type
  const Json type = json.value("model_type", of_oldest);
  if (type.is_null()) {
    return fail(Error::kInvalidData, R"(it has no model_type; "gpt2", "llama" and "qwen3" can be read)");
  }
  if (type == "gpt2") return describe_gpt2(json);
  if (type == "llama" || type == "qwen3") return describe_llama(json);
  return fail(Error::kInvalidData,
              compose("model_type = ", type.dump(), R"(; "gpt2", "llama" and "qwen3" can be read)"));
}

}  // namespace

Status check_fixed(const Json& json, const std::vector<FixedKey>& keys) {
  for (const FixedKey& key : keys) {
    const auto found = json.find(key.name);
    if (found == json.end() || *found == key.value) continue;
    return fail(Error::kInvalidData,
                compose(key.name, " = ", found->dump(), ", and this model has ", key.value.dump()));
  }
  return Done{};
}

namespace {

// Null: absent.
Json value_of(const Json& json, const char* name) {
  const auto found = json.find(name);
  return found == json.end() ? Json() : *found;
}

}  // namespace

Status take_sizes(const Json& json, const std::vector<SizeKey>& keys, ModelDescription& out, const std::string& below) {
  for (const SizeKey& key : keys) {
    const std::string name = below + key.name;
    out.names[key.path] = name;
    const Json value = value_of(json, key.name);
    if (value.is_null() && *key.size > 0) continue;
    if (value.is_null()) return fail(Error::kInvalidData, name + " is absent");
    const bool is_whole = value.is_number_integer();  // get() would cut 2.7, and take true for 1
    if (!is_whole || value < 1 || value > 1 << 30) {
      return fail(Error::kInvalidData, compose(name, " = ", value.dump(), " is no extent"));
    }
    *key.size = value.get<int>();
  }
  return Done{};
}

Status take_reals(const Json& json, const std::vector<RealKey>& keys, Absent absent, ModelDescription& out,
                  const std::string& below) {
  for (const RealKey& key : keys) {
    const std::string name = below + key.name;
    out.names[key.path] = name;
    const Json value = value_of(json, key.name);
    if (value.is_null() && absent == Absent::kKeeps) continue;
    if (value.is_null()) return fail(Error::kInvalidData, name + " is absent");
    if (!value.is_number()) return fail(Error::kInvalidData, compose(name, " = ", value.dump(), " is no number"));
    *key.value = value.get<double>();
  }
  return Done{};
}

Status take_flag(const Json& json, const char* name, bool& value) {
  const Json found = value_of(json, name);
  if (found.is_null()) return Done{};
  if (!found.is_boolean()) {
    return fail(Error::kInvalidData, compose(name, " = ", found.dump(), " is neither true nor false"));
  }
  value = found.get<bool>();
  return Done{};
}

Result<ModelDescription> parse_description(const std::string& text, const std::string& where) {
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) return fail(Error::kInvalidData, where + " is empty");
  try {
    auto description = describe(Json::parse(text));
    if (description) return description;
    return fail(Error::kInvalidData, compose(where, ": ", description.failure().message));
  } catch (const Json::parse_error& error) {
    return fail(Error::kInvalidData, compose(where, " is no JSON: it cannot be read from byte ", error.byte, " on"));
  } catch (const Json::exception& error) {
    return fail(Error::kInvalidData, compose(where, " is not a model's configuration: ", error.what()));
  }
}

std::string description_json(const ModelConfig& model, std::optional<std::int32_t> end_of_text) {
  nlohmann::ordered_json json = model.kind == ModelKind::kGpt2 ? gpt2_json(model) : llama_json(model);
  json["tie_word_embeddings"] = false;
  json["use_cache"] = true;
  const nlohmann::ordered_json end = end_of_text ? nlohmann::ordered_json(*end_of_text) : nullptr;
  json["bos_token_id"] = end;
  json["eos_token_id"] = end;
  json["torch_dtype"] = "float32";
  return json.dump(2) + "\n";
}

std::string prefix_of(ModelKind kind) { return kind == ModelKind::kGpt2 ? "transformer." : ""; }

bool is_constant(ModelKind kind, const std::string& name) {
  if (kind == ModelKind::kLlama) return name.ends_with(".rotary_emb.inv_freq");
  return name.starts_with("h.") && (name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias"));
}

}  // namespace shoal
