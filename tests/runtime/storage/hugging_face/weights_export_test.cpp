// The export to Hugging Face's layout: every name, shape and key that transformers' GPT2LMHeadModel reads.
#include "runtime/storage/hugging_face/weights_export.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "runtime/storage/safetensors.h"
#include "tests/runtime/storage/hugging_face/small_gpt.h"

namespace shoal::weights_export_test {
namespace {

// Names of each weight here and there, and its shape, for small_gpt().
std::vector<std::pair<std::string, std::vector<std::int64_t>>> expected_weights() {
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> weights = {
      {"wte.weight", {5, 4}}, {"wpe.weight", {3, 4}}, {"ln_f.weight", {4}}, {"ln_f.bias", {4}}};
  for (const std::string layer : {"h.0.", "h.1."}) {
    weights.insert(weights.end(), {{layer + "ln_1.weight", {4}},
                                   {layer + "ln_1.bias", {4}},
                                   {layer + "attn.c_attn.weight", {4, 12}},
                                   {layer + "attn.c_attn.bias", {12}},
                                   {layer + "attn.c_proj.weight", {4, 4}},
                                   {layer + "attn.c_proj.bias", {4}},
                                   {layer + "ln_2.weight", {4}},
                                   {layer + "ln_2.bias", {4}},
                                   {layer + "mlp.c_fc.weight", {4, 16}},
                                   {layer + "mlp.c_fc.bias", {16}},
                                   {layer + "mlp.c_proj.weight", {16, 4}},
                                   {layer + "mlp.c_proj.bias", {4}}});
  }
  weights.push_back({"lm_head.weight", {5, 4}});
  return weights;
}

std::vector<float> values_for(std::size_t tensor, const std::vector<std::int64_t>& shape) {
  std::size_t count = 1;
  for (const auto extent : shape) count *= static_cast<std::size_t>(extent);
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(1000 * tensor + i);
  return values;
}

TensorBlob image_without(const std::string& left_out, const std::string& renamed = {}) {
  const auto weights = expected_weights();
  std::vector<std::vector<float>> values;
  for (std::size_t i = 0; i < weights.size(); ++i) values.push_back(values_for(i, weights[i].second));
  std::vector<StoredTensor> tensors;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const auto& [name, shape] = weights[i];
    if (name == left_out && renamed.empty()) continue;
    const std::string& called = name == left_out ? renamed : name;
    tensors.push_back({called, DType::kFloat32, shape, std::as_bytes(std::span<const float>(values[i]))});
  }
  return build_safetensors(std::move(tensors));
}

CheckpointManifest manifest_of_step(std::uint64_t step) {
  CheckpointManifest manifest;
  manifest.run = "ab";
  manifest.step = step;
  return manifest;
}

TEST(WeightsExport, NamesTensorsAsGPT2LMHeadModelDoes) {
  const auto exported = export_model(manifest_of_step(9), image_without(""), small_gpt(), tensors_of_gpt(small_gpt()));
  ASSERT_TRUE(exported.ok()) << exported.failure().message;
  const auto& image = exported->model;
  const auto tensors = parse_safetensors({image.bytes->data(), image.byte_count()}, "export");
  ASSERT_TRUE(tensors.ok());
  const auto weights = expected_weights();
  ASSERT_EQ(tensors->size(), weights.size());
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const auto& [name, shape] = weights[i];
    const auto* tensor = find_tensor(*tensors, name == "lm_head.weight" ? name : "transformer." + name);
    ASSERT_NE(tensor, nullptr) << name;
    EXPECT_EQ(tensor->shape, shape) << name;
    const auto values = values_for(i, shape);
    EXPECT_EQ(std::memcmp(tensor->bytes.data(), values.data(), tensor->bytes.size()), 0) << name;
  }
  const std::string_view text(image.as<char>(), image.byte_count());
  EXPECT_NE(text.find(R"("__metadata__":{"format":"pt")"), std::string_view::npos);
}

TEST(WeightsExport, DescribesTheModel) {
  const auto exported = export_model(manifest_of_step(9), image_without(""), small_gpt(), tensors_of_gpt(small_gpt()));
  const auto json = nlohmann::json::parse(exported->config_json);
  EXPECT_EQ(json.at("model_type"), "gpt2");
  EXPECT_EQ(json.at("architectures"), nlohmann::json::array({"GPT2LMHeadModel"}));
  EXPECT_EQ(json.at("n_layer"), 2);
  EXPECT_EQ(json.at("n_head"), 2);
  EXPECT_EQ(json.at("n_embd"), 4);
  EXPECT_EQ(json.at("n_positions"), 3);
  EXPECT_EQ(json.at("vocab_size"), 5);
  EXPECT_EQ(json.at("layer_norm_epsilon"), 1e-5);
  EXPECT_EQ(json.at("activation_function"), "gelu_new");
  EXPECT_EQ(json.at("tie_word_embeddings"), false);
}

TEST(WeightsExport, RefusesAnotherModelsWeights) {
  const auto missing =
      export_model(manifest_of_step(9), image_without("h.1.mlp.c_fc.bias"), small_gpt(), tensors_of_gpt(small_gpt()));
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.failure().message.find("no tensor h.1.mlp.c_fc.bias"), std::string::npos);
  ModelConfig wider = small_gpt();
  wider.context = 8;
  const auto other = export_model(manifest_of_step(9), image_without(""), wider, tensors_of_gpt(wider));
  ASSERT_FALSE(other.ok());
  EXPECT_NE(other.failure().message.find("wpe.weight is [3,4]"), std::string::npos) << other.failure().message;
  ModelConfig shallower = small_gpt();
  shallower.layers = 1;
  EXPECT_NE(export_model(manifest_of_step(9), image_without(""), shallower, tensors_of_gpt(shallower))
                .failure()
                .message.find("h.1."),
            std::string::npos);
  EXPECT_FALSE(export_model(manifest_of_step(9), image_without("wte.weight", "wtf.weight"), small_gpt(),
                            tensors_of_gpt(small_gpt()))
                   .ok());
}

}  // namespace
}  // namespace shoal::weights_export_test
