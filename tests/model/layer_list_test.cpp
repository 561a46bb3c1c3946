// A llama's tensors are those of transformers, and what is said of each is right.
#include "model/layer_list.h"

#include <map>

#include <gtest/gtest.h>

#include "model/partition.h"
#include "model/pass_memory.h"
#include "model/precision_memory.h"

namespace shoal::layer_list_test {
namespace {

ModelConfig tiny_llama() {
  ModelConfig model{.kind = ModelKind::kLlama, .layers = 1, .heads = 4, .width = 16, .context = 8, .vocabulary = 11};
  model.kv_heads = 2;
  model.head_size = 6;
  model.hidden = 40;
  model.qk_norm = true;
  return model;
}

TEST(LayerList, NamesAndShapesOfALlamaAreThoseOfTransformers) {
  const std::string block = "model.layers.0.";
  const std::map<std::string, std::vector<std::int64_t>> expected = {{"model.embed_tokens.weight", {11, 16}},
                                                                     {block + "input_layernorm.weight", {16}},
                                                                     {block + "self_attn.q_proj.weight", {24, 16}},
                                                                     {block + "self_attn.k_proj.weight", {12, 16}},
                                                                     {block + "self_attn.v_proj.weight", {12, 16}},
                                                                     {block + "self_attn.o_proj.weight", {16, 24}},
                                                                     {block + "self_attn.q_norm.weight", {6}},
                                                                     {block + "self_attn.k_norm.weight", {6}},
                                                                     {block + "mlp.gate_proj.weight", {40, 16}},
                                                                     {block + "mlp.up_proj.weight", {40, 16}},
                                                                     {block + "mlp.down_proj.weight", {16, 40}},
                                                                     {block + "post_attention_layernorm.weight", {16}},
                                                                     {"model.norm.weight", {16}},
                                                                     {"lm_head.weight", {11, 16}}};
  std::map<std::string, std::vector<std::int64_t>> found;
  for (const TensorSpec& tensor : whole_model(tiny_llama()).tensors) found[tensor.name] = tensor.shape;
  EXPECT_EQ(found, expected);
}

TEST(LayerList, SaysOfEachTensorWhatItIs) {
  for (const ModelKind kind : {ModelKind::kGpt2, ModelKind::kLlama}) {
    ModelConfig model = tiny_llama();
    model.kind = kind;
    for (const TensorSpec& tensor : whole_model(model).tensors) {
      SCOPED_TRACE(tensor.name);
      const bool is_table = tensor.shape.size() == 2;
      const bool is_in_block = tensor.name.find(".0.") != tensor.name.npos;
      EXPECT_EQ(tensor.decays, is_table);
      EXPECT_EQ(tensor.is_matrix, is_table && is_in_block);
      EXPECT_EQ(tensor.layer.has_value(), is_in_block);
      const bool is_residual = tensor.name.ends_with("c_proj.weight") || tensor.name.ends_with("o_proj.weight") ||
                               tensor.name.ends_with("down_proj.weight");
      EXPECT_EQ(tensor.initial == InitialValues::kResidual, is_residual);
      EXPECT_EQ(tensor.initial == InitialValues::kZeros, tensor.name.ends_with(".bias"));
      EXPECT_EQ(tensor.initial == InitialValues::kOnes, !is_table && tensor.name.ends_with(".weight"));
    }
  }
}

TEST(LayerList, SizesThatNothingSetsAreLlamas) {
  ModelConfig model{.heads = 12, .width = 768};
  EXPECT_EQ(kv_heads_of(model), 12);
  EXPECT_EQ(head_size_of(model), 64);
  EXPECT_EQ(hidden_of(model), 2048);
  model.width = 4096;
  EXPECT_EQ(hidden_of(model), 11008) << "Llama 7B";
}

TEST(LayerList, KnowsWhatBlocksKeepForTheBackwardPass) {
  const ModelConfig gpt2{.layers = 2, .heads = 4, .width = 32};
  EXPECT_EQ(whole_model(gpt2).kept_values, 2U * (16 * 32 + 4 + 4));
  ModelConfig llama = gpt2;
  llama.kind = ModelKind::kLlama;
  llama.hidden = 50;
  EXPECT_EQ(whole_model(llama).kept_values, 2U * (2 * (3 * 32 + 1) + 4 * 32 + 4 + 4 * 50));
}

TEST(LayerList, KnowsWhatAPassHoldsBesidesThat) {
  ModelConfig gpt2{.layers = 3, .heads = 4, .width = 32, .vocabulary = 50};
  EXPECT_EQ(mask_values(whole_model(gpt2), gpt2), 0U);
  gpt2.dropout = 0.1;
  EXPECT_EQ(mask_values(whole_model(gpt2), gpt2), (1U + 2 * 3) * 32);
  const auto halves = partition(gpt2, 2);
  ASSERT_TRUE(halves.ok());
  EXPECT_EQ(mask_values((*halves)[1], gpt2), 2U * static_cast<unsigned>((*halves)[1].layer_count) * 32);
  EXPECT_EQ(largest_tensor(whole_model(gpt2)), 4U * 32 * 32);
  EXPECT_EQ(passing_values((*halves)[1], gpt2), 6U * 32);
  gpt2.precision = Precision::kBf16;
  EXPECT_EQ(passing_values((*halves)[1], gpt2), 32U + 5 * 16);
  ModelConfig llama{.kind = ModelKind::kLlama, .layers = 3, .heads = 4, .width = 32, .vocabulary = 500};
  llama.hidden = 50;
  EXPECT_EQ(passing_values(whole_model(llama), llama), 2U * 50 + 3 * 32);
  EXPECT_EQ(largest_tensor(whole_model(llama)), 500U * 32);
}

TEST(LayerList, InBf16BlocksKeepLessAndProductsReadCopies) {
  Config config;
  config.model = {.precision = Precision::kBf16, .layers = 2, .heads = 4, .width = 32, .vocabulary = 50};
  EXPECT_EQ(whole_model(config.model).kept_values, 2U * (2 * 32 + 2 * 16 + 4 + 2 * 32 + 4 + 4 * 32));
  const std::uint64_t products = 2 * (4 + 8) * 32 * 32 + 2 * (3 + 1 + 4 + 1) * 32 + 50 * 32;
  EXPECT_EQ(bf16_copy_bytes(whole_model(config.model), config), 2 * products);
  config.sync.mode = SyncMode::kDiloco;
  EXPECT_EQ(bf16_copy_bytes(whole_model(config.model), config), 4 * products);
  config.model.precision = Precision::kFp32;
  EXPECT_EQ(bf16_copy_bytes(whole_model(config.model), config), 0U);
  config.model.kind = ModelKind::kLlama;
  config.model.precision = Precision::kBf16;
  config.model.hidden = 50;
  EXPECT_EQ(whole_model(config.model).kept_values, 2U * (2 * (2 * 32 + 16 + 1) + 2 * 32 + 4 + 75));
}

TEST(LayerList, CostsFollowTheProducts) {
  ModelConfig model = tiny_llama();
  model.heads = 2;
  model.width = 1024;
  model.head_size = 512;
  model.hidden = 2816;
  model.context = 64;
  const PartSpec mlp = model_layers(model)[1].parts[3];
  EXPECT_NEAR(cost_of(mlp), 3.0 * 1024 * 2816, 0.02 * 3 * 1024 * 2816);
  model.kv_heads = 1;
  const PartSpec grouped = model_layers(model)[1].parts[1];
  model.kv_heads = 2;
  EXPECT_GT(cost_of(model_layers(model)[1].parts[1]) - cost_of(grouped), 2.0 * 1024 * 512);
}

// "PaLM", Appendix B: 6 N + 12 L H Q T FLOPs a token, two for each multiply-add.
TEST(LayerList, MultipliesAsPublished) {
  ModelConfig gpt2{.layers = 12, .heads = 12, .width = 768, .context = 1024, .vocabulary = 50257};
  const double multiplied = 12 * (768.0 * 2304 + 768 * 768 + 2 * 768 * 3072) + 768.0 * 50257;
  const double published = 6 * multiplied + 12.0 * 12 * 12 * 64 * 1024;
  EXPECT_DOUBLE_EQ(2 * training_multiply_adds(model_layers(gpt2)), published);
  ModelConfig longer = gpt2;
  longer.context = 2048;
  EXPECT_DOUBLE_EQ(2 * training_multiply_adds(model_layers(longer)), published + 12.0 * 12 * 12 * 64 * 1024)
      << "attention alone: positions are looked up";
  const ModelConfig llama{.kind = ModelKind::kLlama,
                          .layers = 3,
                          .heads = 4,
                          .width = 32,
                          .context = 16,
                          .vocabulary = 50,
                          .kv_heads = 2,
                          .hidden = 48};
  const double block = 32.0 * 32 + 2 * 32 * 16 + 32 * 32 + 3 * 32 * 48 + 2 * 32 * 16;
  EXPECT_DOUBLE_EQ(training_multiply_adds(model_layers(llama)), 3 * (3 * block + 32 * 50));
}

}  // namespace
}  // namespace shoal::layer_list_test
