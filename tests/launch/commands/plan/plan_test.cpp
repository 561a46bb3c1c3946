// Tests the options of `shoal plan`.
#include "launch/commands/plan/plan.h"

#include <cstdint>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launch/interface.h"
#include "runtime/base/text/quantity_words.h"
#include "tests/runtime/data/scratch.h"

namespace shoal::plan_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

Result<PlanOptions> read(const std::vector<std::string>& words) {
  const auto options = parse_options(command_named("plan"), words);
  if (!options) return options.failure();
  return plan_options(*options);
}

std::string refusal(const std::vector<std::string>& words) {
  const auto options = read(words);
  if (options) return "accepted";
  EXPECT_EQ(options.failure().error, Error::kUsage);
  return options.failure().message;
}

TEST(PlanCommand, TakesKindsOfMachines) {
  const auto options = read({"--set", "pipeline.stages=1", "--speed", "fast=500x4", "--speed", "slow=50", "--memory",
                             "8G", "--memory", "fast=24G", "--price", "fast=2.5", "--link-mbit", "100", "--json"});
  ASSERT_TRUE(options.ok()) << options.failure().message;
  EXPECT_EQ(options->form, OutputForm::kJson);
  EXPECT_EQ(options->order.config.pipeline.stages, 1);
  ASSERT_EQ(options->order.kinds.size(), 2U);
  EXPECT_EQ(options->order.kinds[0].count, 4U);
  EXPECT_EQ(options->order.kinds[0].memory_bytes, 24'000'000'000U);
  EXPECT_EQ(options->order.kinds[1].memory_bytes, 8'000'000'000U);
  EXPECT_EQ(options->order.kinds[0].price_per_hour, 2.5);
  EXPECT_FALSE(options->order.kinds[1].price_per_hour);
  EXPECT_EQ(options->order.link_bit_s, 100e6);
}

// Published numbers, which count the head as the embedding that it shares there.
TEST(PlanCommand, ModelsThatPeopleKnowHaveTheirParameters) {
  const std::map<std::string, std::uint64_t> published = {{"gpt2-small", 124'439'808}, {"gpt2-medium", 354'823'168},
                                                          {"gpt2-large", 774'030'080}, {"gpt2-xl", 1'557'611'200},
                                                          {"llama-125m", 123'551'232}, {"llama-350m", 359'794'688},
                                                          {"llama-1b", 1'076'072'448}};
  for (const auto& [name, parameters] : published) {
    const auto options = read({std::string(SHOAL_SOURCE_DIR) + "/launch/configs/" + name + ".toml"});
    ASSERT_TRUE(options.ok()) << options.failure().message;
    const auto plan = plan_run(options->order);
    ASSERT_TRUE(plan.ok()) << plan.failure().message;
    std::uint64_t sum = 0;
    for (const PlannedStage& stage : plan->stages) sum += stage.cut.parameter_count;
    const ModelConfig& model = plan->config.model;
    EXPECT_EQ(sum - static_cast<std::uint64_t>(model.vocabulary) * static_cast<std::uint64_t>(model.width), parameters)
        << name;
  }
}

std::string memory_said(const std::vector<std::string>& words) {
  const auto options = read(words);
  EXPECT_TRUE(options.ok()) << (options ? "" : options.failure().message);
  const auto plan = plan_run(options->order);
  EXPECT_TRUE(plan.ok()) << (plan ? "" : plan.failure().message);
  return memory_text(options->order, *plan);
}

TEST(PlanCommand, SaysWhatMemoryIsComparedWithAndWhatAGpuOfItHolds) {
  const std::string config = std::string(SHOAL_SOURCE_DIR) + "/launch/configs/gpt2-small.toml";
  EXPECT_EQ(memory_said({config}), "");
  const auto plan = *plan_run(read({config})->order);
  ASSERT_LT(plan.stages[0].on_gpu, plan.stages[0].credits.total_bytes);  // what a GPU holds, and a processor does not
  const auto stage0 = plan.stages[0].on_gpu;
  const auto stage1 = plan.stages[1].on_gpu;
  ASSERT_LT(stage1, stage0);
  EXPECT_THAT(memory_said({config, "--memory", std::to_string(stage0)}),
              AllOf(HasSubstr("`fits` compares it with `slow behind`, and so do the settings that are named"),
                    HasSubstr("If it is a GPU's, `on a GPU` counts: every stage fits.")));
  EXPECT_THAT(memory_said({config, "--memory", std::to_string(stage0 - 1)}),
              HasSubstr("no GPU of that memory holds stage 0 (" + size_text(stage0) + ")."));
  EXPECT_THAT(memory_said({config, "--memory", std::to_string(stage1 - 1)}),
              HasSubstr("holds stage 0 (" + size_text(stage0) + ") and stage 1 (" + size_text(stage1) + ")."));
  EXPECT_THAT(memory_said({config, "--memory", "1T"}), Not(HasSubstr("settings")));
  EXPECT_THAT(memory_said({config, "--speed", "a=1x1", "--speed", "b=1x1", "--memory", "a=1T", "--memory", "b=100M"}),
              HasSubstr("no GPU of that memory holds stage"));
  EXPECT_EQ(memory_said({config, "--gflops", "100"}), "");
}

TEST(PlanCommand, ALinkOfZeroIsWithoutLimit) {
  EXPECT_EQ(read({"--link-mbit", "0"})->order.link_bit_s, std::nullopt);
  EXPECT_EQ(read({})->order.link_bit_s, std::nullopt);
  EXPECT_THAT(refusal({"--link-mbit", "-1"}), HasSubstr("--link-mbit -1"));
}

TEST(PlanCommand, SaysWhichKeysHaveNoEffect) {
  EXPECT_EQ(read({})->warning, "");
  EXPECT_EQ(read({"--set", "sync.H=20"})->warning, "sync.H has no effect while sync.mode = \"every_step\"");
  const Scratch scratch;
  const std::string config = scratch.file("config.toml", "[sync]\nH = 20\n").string();
  EXPECT_THAT(read({config})->warning, HasSubstr("sync.H has no effect"));
}

TEST(PlanCommand, RefusesATextThatThisVersionDoesNotRead) {
  EXPECT_THAT(refusal({"--set", "data.corpus=a.jsonl"}), HasSubstr("not in this version"));
}

TEST(PlanCommand, OneSpeedForAll) {
  const auto options = read({"--gflops", "100", "--price", "2"});
  ASSERT_TRUE(options.ok());
  ASSERT_EQ(options->order.kinds.size(), 1U);
  EXPECT_DOUBLE_EQ(*options->order.kinds[0].multiply_adds_s, 50e9);
  EXPECT_EQ(options->order.kinds[0].price_per_hour, 2);
}

TEST(PlanCommand, RefusesWhatMakesNoSense) {
  EXPECT_THAT(refusal({"--speed", "fast"}), HasSubstr("expected NAME=GFLOPS"));
  EXPECT_THAT(refusal({"--speed", "a=1", "--speed", "a=2"}), HasSubstr("already"));
  EXPECT_THAT(refusal({"--speed", "a=1", "--gflops", "2"}), HasSubstr("one of"));
  EXPECT_THAT(refusal({"--speed", "a=1", "--memory", "b=2G"}), HasSubstr("names that kind"));
  EXPECT_THAT(refusal({"--price", "2"}), HasSubstr("wants a speed"));
  EXPECT_THAT(refusal({"--gflops", "1", "--price", "cheap"}), HasSubstr("expected a price"));
  EXPECT_THAT(refusal({"--memory", "much"}), HasSubstr("expected bytes"));
  EXPECT_THAT(refusal({"--set", "model.wdith=3"}), HasSubstr("model.width"));
}

TEST(PlanCommand, MeasuresARun) {
  const Scratch scratch;
  EXPECT_EQ(read({"--run", (scratch.path() / "none").string()}).failure().error, Error::kUsage);
  (void)scratch.file("config.toml",
                     "[pipeline]\nstages = 1\nreplicas = 1\n[sync]\nH = 20\n[data]\ncorpus = \"a.jsonl\"\n");
  (void)scratch.file(
      "metrics.jsonl",
      R"({"step":1,"step_ms":1000,"time":{"forward":300,"backward":600,"reduce":10,"commit":20,"apply":30}})"
      "\n");
  const auto options =
      read({"--run", scratch.path().string(), "--set", "pipeline.stages=1", "--set", "pipeline.replicas=1"});
  ASSERT_TRUE(options.ok()) << options.failure().message;
  EXPECT_DOUBLE_EQ(options->order.commit_s, 0.05);
  EXPECT_EQ(options->warning, "");
  const auto plan = plan_run(options->order);
  ASSERT_TRUE(plan.ok());
  EXPECT_NEAR(plan->time->total_s, 0.95, 1e-6);  // the run's own computing and commit
}

// Reads the speed of a run whose steps say that so many replicas computed.
double measured_speed(const std::string& pipeline, const std::string& replicas) {
  const Scratch scratch;
  (void)scratch.file("config.toml", "[pipeline]\n" + pipeline);
  std::string lines;
  const std::string of_first = replicas == "null" ? "null" : "[1, 1]";
  for (const std::string& of_step : {of_first, replicas, replicas, replicas}) {
    lines += R"({"step":1,"step_ms":1000,"replicas":)" + of_step +
             R"(,"time":{"forward":300,"backward":600,"reduce":10}})"
             "\n";
  }
  (void)scratch.file("metrics.jsonl", lines);
  const auto options = read({"--run", scratch.path().string()});
  EXPECT_TRUE(options.ok()) << (options ? "" : options.failure().message);
  return *options->order.kinds.at(0).multiply_adds_s;
}

TEST(PlanCommand, TheSpeedOfAReplicaIsThatOfTheReplicasThatComputed) {
  const double alone = measured_speed("stages = 1\nreplicas = 1\n", "[1]");
  EXPECT_DOUBLE_EQ(measured_speed("stages = 2\nreplicas = 2\n", "[1]"), alone);  // --single beside a run of 2 x 2
  EXPECT_DOUBLE_EQ(measured_speed("stages = 2\nreplicas = [2, 1]\n", "[1]"), alone);
  EXPECT_DOUBLE_EQ(measured_speed("stages = 2\nreplicas = 2\n", "[2, 2]"), alone / 4);
  EXPECT_DOUBLE_EQ(measured_speed("stages = 2\nreplicas = 2\n", "[2, 1]"), alone / 3);  // a node is missing
  EXPECT_DOUBLE_EQ(measured_speed("stages = 2\nreplicas = 2\n", "null"), alone / 4);    // not told
}

}  // namespace
}  // namespace shoal::plan_test
