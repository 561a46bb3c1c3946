// config.json of three architectures: read with its defaults, written and read again, refused by name.
#include "runtime/storage/hugging_face/description.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace shoal::description_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::json;

Json small_json() {
  return {{"model_type", "gpt2"}, {"n_layer", 2}, {"n_head", 2}, {"n_embd", 4}, {"n_positions", 3}, {"vocab_size", 5}};
}

std::string config_refusal(const Json& json) {
  const auto refused = parse_description(json.dump(), "DIR/config.json");
  EXPECT_FALSE(refused.ok());
  if (refused.ok()) return "";
  EXPECT_EQ(refused.failure().error, Error::kInvalidData);
  EXPECT_THAT(refused.failure().message, HasSubstr("DIR/config.json"));
  return refused.failure().message;
}

TEST(Description, IsReadWithItsDefaults) {
  const auto plain = parse_description(small_json().dump(), "");
  ASSERT_TRUE(plain.ok()) << plain.failure().message;
  EXPECT_EQ(plain->model.layers, 2);
  EXPECT_EQ(plain->model.heads, 2);
  EXPECT_EQ(plain->model.width, 4);
  EXPECT_EQ(plain->model.context, 3);
  EXPECT_EQ(plain->model.vocabulary, 5);
  EXPECT_EQ(plain->model.dropout, 0.1);
  EXPECT_TRUE(plain->head_is_tied) << "as transformers has it";
  Json json = small_json();
  json["n_inner"] = 16;
  json["resid_pdrop"] = 0;
  json["activation_function"] = "gelu_new";
  json["layer_norm_epsilon"] = 1e-05;
  json["summary_type"] = "cls_index";  // without a meaning here
  const auto more = parse_description(json.dump(), "");
  ASSERT_TRUE(more.ok()) << more.failure().message;
  EXPECT_EQ(more->model.dropout, 0);
}

TEST(Description, IsRefusedWhereThisModelIsAnother) {
  const auto with = [](const char* key, const Json& value) {
    Json json = small_json();
    json[key] = value;
    return config_refusal(json);
  };
  EXPECT_THAT(with("model_type", "mamba"), AllOf(HasSubstr("model_type"), HasSubstr("mamba")));
  EXPECT_THAT(with("activation_function", "relu"), HasSubstr("gelu_new"));
  EXPECT_THAT(with("layer_norm_epsilon", 1e-6), HasSubstr("layer_norm_epsilon"));
  EXPECT_THAT(with("scale_attn_by_inverse_layer_idx", true), HasSubstr("scale_attn_by_inverse_layer_idx"));
  EXPECT_THAT(with("n_inner", 20), HasSubstr("4 x n_embd"));
  EXPECT_THAT(with("n_layer", 0), HasSubstr("n_layer"));
  EXPECT_THAT(with("vocab_size", -1), HasSubstr("vocab_size"));
  EXPECT_THAT(with("n_head", "two"), HasSubstr("n_head = \"two\""));
  EXPECT_THAT(with("n_layer", 2.7), HasSubstr("n_layer = 2.7 is no extent"));
  EXPECT_THAT(with("n_layer", true), HasSubstr("n_layer = true is no extent"));
  EXPECT_THAT(with("n_layer", 1ULL << 63U), HasSubstr("n_layer"));
  EXPECT_THAT(with("pruned_heads", {{"0", {1}}}), HasSubstr("pruned_heads"));
  Json json = small_json();
  json.erase("n_embd");
  EXPECT_THAT(config_refusal(json), HasSubstr("n_embd"));
  EXPECT_THAT(config_refusal(Json::array()), HasSubstr("no JSON object"));
  EXPECT_FALSE(parse_description("{", "config.json").ok());
}

Json llama_file() {
  return {{"model_type", "llama"},   {"num_hidden_layers", 2},        {"num_attention_heads", 4}, {"hidden_size", 32},
          {"intermediate_size", 48}, {"max_position_embeddings", 64}, {"vocab_size", 256}};
}

ModelConfig read(const Json& json) {
  const auto description = parse_description(json.dump(), "");
  EXPECT_TRUE(description.ok()) << description.failure().message;
  return description.ok() ? description->model : ModelConfig{};
}

TEST(Description, OfALlamaIsReadWithItsDefaults) {
  const ModelConfig plain = read(llama_file());
  EXPECT_EQ(plain.kind, ModelKind::kLlama);
  EXPECT_EQ(plain.hidden, 48);
  EXPECT_EQ(plain.kv_heads, 4);
  EXPECT_EQ(plain.head_size, 8);
  EXPECT_EQ(plain.norm_eps, 1e-6);
  EXPECT_EQ(plain.rope_theta, 10000);
  EXPECT_FALSE(plain.qk_norm);
  EXPECT_FALSE(parse_description(llama_file().dump(), "")->head_is_tied) << "as transformers has it";
  Json json = llama_file();
  json["model_type"] = "qwen3";
  json["head_dim"] = 16;
  json["num_key_value_heads"] = 2;
  json["tie_word_embeddings"] = true;
  EXPECT_TRUE(read(json).qk_norm);
  EXPECT_EQ(read(json).head_size, 16);
  EXPECT_EQ(read(json).kv_heads, 2);
  EXPECT_TRUE(parse_description(json.dump(), "")->head_is_tied);
}

TEST(Description, OfRotaryPositionsIsReadInItsOldAndItsNewForm) {
  const Json llama3 = {{"rope_type", "llama3"},   {"factor", 32.0},         {"low_freq_factor", 1.5},
                       {"high_freq_factor", 5.0}, {"rope_theta", 500000.0}, {"original_max_position_embeddings", 8192}};
  Json newer = llama_file();
  newer["rope_parameters"] = llama3;
  Json older = llama_file();
  older["rope_theta"] = 500000.0;
  older["rope_scaling"] = llama3;
  older["rope_scaling"].erase("rope_theta");
  for (const Json& json : {newer, older}) {
    const ModelConfig model = read(json);
    EXPECT_EQ(model.rope_theta, 500000);
    EXPECT_EQ(model.rope_scaling, RopeScaling::kLlama3);
    EXPECT_EQ(model.rope_factor, 32);
    EXPECT_EQ(model.rope_low_freq_factor, 1.5);
    EXPECT_EQ(model.rope_high_freq_factor, 5);
    EXPECT_EQ(model.rope_original_context, 8192);
  }
  older["rope_scaling"] = {{"type", "linear"}, {"factor", 2.0}};  // the oldest word for it
  EXPECT_EQ(read(older).rope_scaling, RopeScaling::kLinear);
  EXPECT_EQ(read(older).rope_theta, 500000);
}

// Keys that say what this model does anyway.
TEST(Description, OfALlamaMaySayMoreThanIsAsked) {
  Json json = llama_file();
  json["layer_types"] = {"full_attention", "full_attention"};
  json["partial_rotary_factor"] = 1;
  json["pruned_heads"] = Json::object();
  json["rope_parameters"] = {
      {"rope_type", "default"}, {"rope_theta", 5e5}, {"partial_rotary_factor", 1.0}, {"attention_factor", nullptr}};
  EXPECT_EQ(read(json).rope_theta, 5e5);
  json["rope_parameters"] = nullptr;
  json["layer_types"] = nullptr;
  json["rope_theta"] = 77;
  EXPECT_EQ(read(json).rope_theta, 77);
}

TEST(Description, OfALlamaIsReadAsItWasWritten) {
  for (const bool qk_norm : {false, true}) {
    for (const RopeScaling scaling : {RopeScaling::kNone, RopeScaling::kLinear, RopeScaling::kLlama3}) {
      ModelConfig model = read(llama_file());
      model.qk_norm = qk_norm;
      model.rope_scaling = scaling;
      model.rope_factor = scaling == RopeScaling::kNone ? 1 : 8;
      model.rope_theta = 77;
      const std::string text = description_json(model, 3);
      EXPECT_EQ(Json::parse(text).at("model_type"), qk_norm ? "qwen3" : "llama");
      EXPECT_EQ(Json::parse(text).at("eos_token_id"), 3);
      const auto again = parse_description(text, "");
      ASSERT_TRUE(again.ok()) << again.failure().message;
      EXPECT_EQ(description_json(again->model, 3), text);
      EXPECT_EQ(again->model.qk_norm, qk_norm);
      EXPECT_EQ(again->model.rope_scaling, scaling);
      EXPECT_EQ(again->model.rope_theta, 77);
    }
  }
}

TEST(Description, OfALlamaIsRefusedWhereThisModelIsAnother) {
  const auto with = [](const char* key, const Json& value) {
    Json json = llama_file();
    json[key] = value;
    return config_refusal(json);
  };
  EXPECT_THAT(with("hidden_act", "gelu"), AllOf(HasSubstr("hidden_act"), HasSubstr("silu")));
  EXPECT_THAT(with("attention_bias", true), HasSubstr("attention_bias"));
  EXPECT_THAT(with("mlp_bias", true), HasSubstr("mlp_bias"));
  EXPECT_THAT(with("rope_scaling", {{"rope_type", "yarn"}, {"factor", 4.0}}),
              AllOf(HasSubstr("yarn"), HasSubstr("rope")));
  EXPECT_THAT(with("rope_parameters", {{"rope_type", "dynamic"}, {"factor", 4.0}}), HasSubstr("dynamic"));
  EXPECT_THAT(with("rope_scaling", {{"rope_type", "llama3"}}), HasSubstr("factor"));
  EXPECT_THAT(with("num_attention_heads", 0), HasSubstr("num_attention_heads"));
  EXPECT_THAT(with("num_hidden_layers", 2.7), HasSubstr("num_hidden_layers = 2.7 is no extent"));
  EXPECT_THAT(with("num_key_value_heads", 1.5), HasSubstr("num_key_value_heads = 1.5"));
  EXPECT_THAT(with("layer_types", {"full_attention", "sliding_attention"}),
              AllOf(HasSubstr("layer_types"), HasSubstr("sliding_attention")));
  EXPECT_THAT(with("partial_rotary_factor", 0.5), HasSubstr("partial_rotary_factor"));
  EXPECT_THAT(with("pruned_heads", {{"0", {1}}}), HasSubstr("pruned_heads"));
  const Json of_layers = {{"full_attention", {{"rope_type", "default"}, {"rope_theta", 1e6}}}};
  EXPECT_THAT(with("rope_parameters", of_layers), HasSubstr("full_attention"));
  EXPECT_THAT(with("rope_parameters", {{"rope_theta", 1e6}, {"partial_rotary_factor", 0.5}}),
              HasSubstr("partial_rotary_factor = 0.5"));
  EXPECT_THAT(with("rope_parameters", Json::array({1e6})), HasSubstr("no object"));
  EXPECT_THAT(with("rope_scaling", "linear"), HasSubstr("no object"));
  Json json = llama_file();
  json.erase("intermediate_size");
  EXPECT_THAT(config_refusal(json), HasSubstr("intermediate_size"));
  json = llama_file();
  json["model_type"] = "qwen3";
  json["use_sliding_window"] = true;
  EXPECT_THAT(config_refusal(json), HasSubstr("use_sliding_window"));
}

// Sentences of the JSON library name no key.
TEST(Description, AKeyThatIsAbsentOrNoNumberIsNamed) {
  const auto with = [](const Json& changes) {
    Json json = llama_file();
    json.merge_patch(changes);
    const std::string refused = config_refusal(json);
    EXPECT_THAT(refused, Not(HasSubstr("json.exception")));
    return refused;
  };
  const Json llama3 = {{"rope_type", "llama3"}, {"factor", 8.0}};
  EXPECT_THAT(with({{"rope_scaling", llama3}}), HasSubstr("rope_scaling.low_freq_factor is absent"));
  EXPECT_THAT(with({{"rope_parameters", llama3}}), HasSubstr("rope_parameters.low_freq_factor is absent"));
  EXPECT_THAT(with({{"rope_scaling", {{"type", "linear"}}}}), HasSubstr("rope_scaling.factor is absent"));
  Json of_nothing = {{"low_freq_factor", 1.0}, {"high_freq_factor", 4.0}, {"original_max_position_embeddings", 0}};
  of_nothing.update(llama3);
  EXPECT_THAT(with({{"rope_scaling", of_nothing}}),
              HasSubstr("rope_scaling.original_max_position_embeddings = 0 is no extent"));
  EXPECT_THAT(with({{"rope_scaling", {{"type", "linear"}, {"factor", "two"}}}}),
              HasSubstr("rope_scaling.factor = \"two\" is no number"));
  EXPECT_THAT(with({{"rope_theta", "big"}}), HasSubstr("rope_theta = \"big\" is no number"));
  EXPECT_THAT(with({{"rms_norm_eps", "small"}}), HasSubstr("rms_norm_eps = \"small\" is no number"));
  EXPECT_THAT(with({{"tie_word_embeddings", 1}}), HasSubstr("tie_word_embeddings = 1 is neither true nor false"));
  EXPECT_THAT(with({{"vocab_size", nullptr}}), HasSubstr("vocab_size is absent"));
}

TEST(Description, WithoutATypeIsOfAGpt2OnlyWhereItHasItsKeys) {
  EXPECT_THAT(config_refusal(Json::object()), HasSubstr("it has no model_type"));
  Json json = llama_file();
  json.erase("model_type");
  EXPECT_THAT(config_refusal(json), HasSubstr("it has no model_type"));
  json = small_json();
  json.erase("model_type");
  EXPECT_TRUE(parse_description(json.dump(), "").ok()) << "as the oldest files have it";
  EXPECT_EQ(parse_description(" \n", "DIR/config.json").failure().message, "DIR/config.json is empty");
  EXPECT_EQ(parse_description("{\"n_layer\": ]", "DIR/config.json").failure().message,
            "DIR/config.json is no JSON: it cannot be read from byte 13 on");
}

TEST(Description, OfRotaryPositionsNamesKeysAsTheFileDoes) {
  const auto name = [](const char* part, const Json& value) {
    Json json = llama_file();
    json[part] = value;
    return parse_description(json.dump(), "")->names.at("model.rope_factor");
  };
  EXPECT_EQ(name("rope_scaling", {{"type", "linear"}, {"factor", 0}}), "rope_scaling.factor");
  EXPECT_EQ(name("rope_parameters", {{"rope_type", "linear"}, {"factor", 0}}), "rope_parameters.factor");
  Json json = llama_file();
  json["rope_theta"] = 0;
  EXPECT_EQ(parse_description(json.dump(), "")->names.at("model.rope_theta"), "rope_theta");
}

}  // namespace
}  // namespace shoal::description_test
