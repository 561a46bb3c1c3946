// The cut covers every layer once, in order, and no stage is dearer than it must be.
#include "model/partition.h"

#include <algorithm>
#include <random>
#include <set>

#include <gtest/gtest.h>

namespace shoal::partition_test {
namespace {

ModelConfig model_of(int layers, int width = 64) {
  ModelConfig model;
  model.layers = layers;
  model.width = width;
  return model;
}

class OfEachKind : public testing::TestWithParam<ModelKind> {};
INSTANTIATE_TEST_SUITE_P(Partition, OfEachKind, testing::Values(ModelKind::kGpt2, ModelKind::kLlama));

TEST_P(OfEachKind, HoldsEveryTensorOfTheModelExactlyOnce) {
  ModelConfig model = model_of(6);
  model.kind = GetParam();
  for (int stages = 1; stages <= 6; ++stages) {
    const auto plans = partition(model, stages);
    ASSERT_TRUE(plans.ok());
    std::vector<TensorSpec> all;
    for (const StagePlan& plan : *plans) all.insert(all.end(), plan.tensors.begin(), plan.tensors.end());
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    EXPECT_EQ(all, whole_model(model).tensors) << stages << " stages";
  }
}

TEST(Partition, NamesAndShapesAreThoseOfGpt2) {
  ModelConfig model = model_of(1, 8);
  model.context = 16;
  model.vocabulary = 32;
  const std::vector<std::pair<std::string, std::vector<std::int64_t>>> expected = {
      {"h.0.attn.c_attn.bias", {24}}, {"h.0.attn.c_attn.weight", {8, 24}},
      {"h.0.attn.c_proj.bias", {8}},  {"h.0.attn.c_proj.weight", {8, 8}},
      {"h.0.ln_1.bias", {8}},         {"h.0.ln_1.weight", {8}},
      {"h.0.ln_2.bias", {8}},         {"h.0.ln_2.weight", {8}},
      {"h.0.mlp.c_fc.bias", {32}},    {"h.0.mlp.c_fc.weight", {8, 32}},
      {"h.0.mlp.c_proj.bias", {8}},   {"h.0.mlp.c_proj.weight", {32, 8}},
      {"lm_head.weight", {32, 8}},    {"ln_f.bias", {8}},
      {"ln_f.weight", {8}},           {"wpe.weight", {16, 8}},
      {"wte.weight", {32, 8}}};
  const StagePlan plan = whole_model(model);
  ASSERT_EQ(plan.tensors.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(plan.tensors[i].name, expected[i].first);
    EXPECT_EQ(plan.tensors[i].shape, expected[i].second) << expected[i].first;
  }
  EXPECT_EQ(plan.parameter_count, 24U + 192 + 8 + 64 + 8 * 4 + 32 + 256 + 8 + 256 + 256 + 8 + 8 + 128 + 256);
}

TEST(Partition, EveryStageHasALayerAndTheEndsHaveEmbeddingAndHead) {
  const auto plans = partition(model_of(5), 5);
  ASSERT_TRUE(plans.ok());
  for (std::size_t s = 0; s < plans->size(); ++s) {
    EXPECT_EQ((*plans)[s].layer_count, 1);
    EXPECT_EQ((*plans)[s].first_layer, static_cast<int>(s));
    EXPECT_EQ((*plans)[s].has_embedding, s == 0);
    EXPECT_EQ((*plans)[s].has_head, s == 4);
  }
}

TEST(Partition, RefusesAnImpossibleNumberOfStages) {
  for (const int stages : {-1, 0, 5}) {
    const auto plans = partition(model_of(4), stages);
    ASSERT_FALSE(plans.ok());
    EXPECT_EQ(plans.failure().error, Error::kUsage);
    EXPECT_NE(plans.failure().message.find("pipeline.stages"), std::string::npos);
  }
}

TEST(Partition, ADearHeadMovesLayersAwayFromTheLastStage) {
  ModelConfig model = model_of(8, 128);
  model.vocabulary = 50257;
  const auto plans = partition(model, 2);
  ASSERT_TRUE(plans.ok());
  EXPECT_GT((*plans)[0].layer_count, (*plans)[1].layer_count);
}

TEST(Partition, NoOtherCutHasACheaperDearestStage) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const auto draw = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  for (int trial = 0; trial < 50; ++trial) {
    ModelConfig model = model_of(draw(3, 9), 16 * draw(1, 20));
    model.vocabulary = draw(2, 60000);
    const auto plans = partition(model, 3);
    ASSERT_TRUE(plans.ok());
    const auto dearest = [](const std::vector<StagePlan>& some) {
      return std::max_element(some.begin(), some.end(), [](const auto& a, const auto& b) { return a.cost < b.cost; })
          ->cost;
    };
    const double layer = (*plans)[1].cost / (*plans)[1].layer_count;
    const double embedding = (*plans)[0].cost - layer * (*plans)[0].layer_count;
    const double head = (*plans)[2].cost - layer * (*plans)[2].layer_count;
    for (int a = 1; a < model.layers - 1; ++a) {
      for (int b = 1; a + b < model.layers; ++b) {
        const double other = std::max({embedding + a * layer, b * layer, (model.layers - a - b) * layer + head});
        EXPECT_LE(dearest(*plans), other * (1 + 1e-9));
      }
    }
  }
}

std::vector<int> layers_by_stage(const Config& config) {
  const auto plans = partition(config);
  EXPECT_TRUE(plans.ok()) << (plans.ok() ? "" : plans.failure().message);
  std::vector<int> layers;
  int first = 0;
  for (const StagePlan& plan : *plans) {
    EXPECT_EQ(plan.first_layer, first);
    first += plan.layer_count;
    layers.push_back(plan.layer_count);
  }
  EXPECT_EQ(first, config.model.layers);
  EXPECT_TRUE(plans->front().has_embedding && plans->back().has_head);
  return layers;
}

// A vocabulary whose head costs as much as several blocks.
Config with_dear_head() {
  Config config;
  config.model = model_of(8);
  config.model.vocabulary = 20000;
  config.pipeline.stages = 3;
  return config;
}

TEST(Partition, IsByCostUnlessTheConfigurationSaysOtherwise) {
  Config config = with_dear_head();
  const auto by_cost = partition(config.model, 3);
  ASSERT_TRUE(by_cost.ok());
  std::vector<int> layers;
  for (const StagePlan& plan : *by_cost) layers.push_back(plan.layer_count);
  EXPECT_EQ(layers_by_stage(config), layers);
  EXPECT_LT(layers.back(), layers.front()) << "the head weighs";
}

TEST(Partition, EvenStagesHaveAsManyLayersAsNearlyAsCanBe) {
  Config config = with_dear_head();
  config.pipeline.cut = Cut::kEven;
  EXPECT_EQ(layers_by_stage(config), (std::vector<int>{3, 3, 2}));
  config.pipeline.stages = 4;
  EXPECT_EQ(layers_by_stage(config), (std::vector<int>{2, 2, 2, 2}));
  config.pipeline.stages = 9;
  EXPECT_FALSE(partition(config).ok());
}

TEST(Partition, AListSaysTheLayersOfEachStage) {
  Config config = with_dear_head();
  config.pipeline.cut = Cut::kListed;
  config.pipeline.cut_listed = {1, 6, 1};
  EXPECT_EQ(layers_by_stage(config), (std::vector<int>{1, 6, 1}));
  for (const std::vector<int>& bad : {std::vector<int>{}, {8}, {4, 4}, {3, 3, 3}, {0, 4, 4}, {9, -2, 1}}) {
    config.pipeline.cut_listed = bad;
    const auto plans = partition(config);
    ASSERT_FALSE(plans.ok());
    EXPECT_NE(plans.failure().message.find("3 stages"), std::string::npos) << plans.failure().message;
  }
}

}  // namespace
}  // namespace shoal::partition_test
