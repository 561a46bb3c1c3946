// Stages that are joined of layers are those into which the model itself is cut, figure by figure.
#include "runtime/plan/resources/cut_stage.h"

#include <gtest/gtest.h>

#include "launch/commands/plan/model_cut.h"

namespace shoal::cut_stage_test {
namespace {

Config gpt2() {
  Config config;
  config.model.layers = 7;
  config.model.vocabulary = 5000;
  return config;
}

Config llama() {
  Config config = gpt2();
  config.model.kind = ModelKind::kLlama;
  config.model.kv_heads = 2;
  config.model.precision = Precision::kBf16;
  config.sync.mode = SyncMode::kDiloco;
  return config;
}

ModelCuts model_of(const Config& config) { return cuts_of(config).value(); }

TEST(CutStage, StagesOfLayersAreThoseOfTheModel) {
  for (Config config : {gpt2(), llama()}) {
    for (const Cut cut : {Cut::kAuto, Cut::kEven}) {
      config.pipeline.cut = cut;
      const ModelCuts model = model_of(config);
      ASSERT_EQ(model.by_stages.size(), 7U);
      for (int stages = 1; stages <= 7; ++stages) {
        Config wished = config;
        wished.pipeline.stages = stages;
        EXPECT_EQ(stages_of(model, wished.pipeline).value(), cut_of(wished).value()) << stages;
      }
    }
  }
}

TEST(CutStage, AListOfAConfigurationSaysTheLayers) {
  Config config = gpt2();
  const ModelCuts by_cost = model_of(config);
  config.pipeline.stages = 3;
  config.pipeline.cut = Cut::kListed;
  config.pipeline.cut_listed = {1, 5, 1};
  const auto wished = cut_of(config).value();
  EXPECT_EQ(stages_of(model_of(config), config.pipeline).value(), wished);
  EXPECT_EQ(stages_of(by_cost, config.pipeline).value(), wished) << "also one that the model did not know of";
  config.pipeline.cut_listed = {1, 4, 2};
  EXPECT_NE(stages_of(by_cost, config.pipeline).value(), wished) << "the control";
}

TEST(CutStage, WithoutAListOtherNumbersOfStagesAreCutByCost) {
  Config config = gpt2();
  const auto by_cost = model_of(config).by_stages;
  config.pipeline.stages = 3;
  config.pipeline.cut = Cut::kListed;
  config.pipeline.cut_listed = {1, 5, 1};
  const auto listed = model_of(config).by_stages;
  EXPECT_EQ(listed[2], config.pipeline.cut_listed);
  EXPECT_NE(listed[2], by_cost[2]);
  EXPECT_EQ(listed[1], by_cost[1]);
  EXPECT_EQ(listed[3], by_cost[3]);
}

TEST(CutStage, RefusesNumbersOfStagesAndListsThatDoNotFit) {
  Config config = gpt2();
  const ModelCuts model = model_of(config);
  for (const int stages : {0, 8}) {
    config.pipeline.stages = stages;
    EXPECT_EQ(stages_of(model, config.pipeline).failure().error, Error::kUsage) << stages;
  }
  config.pipeline.stages = 2;
  config.pipeline.cut = Cut::kListed;
  for (const std::vector<int>& bad : {std::vector<int>{}, {7}, {3, 3}, {0, 7}, {9, -2}, {3, 3, 1}}) {
    config.pipeline.cut_listed = bad;
    EXPECT_EQ(stages_of(model, config.pipeline).failure().error, Error::kUsage) << bad.size();
  }
}

}  // namespace
}  // namespace shoal::cut_stage_test
