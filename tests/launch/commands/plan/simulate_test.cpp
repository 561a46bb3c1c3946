// Tests the options of `shoal simulate bandwidth`: models, networks and runs.
#include "launch/commands/plan/simulate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "launch/interface.h"
#include "tests/runtime/data/scratch.h"

namespace shoal::simulate_test {
namespace {

using testing::HasSubstr;

Result<SimulateBandwidthOptions> read(const std::vector<std::string>& words) {
  const auto options = parse_options(command_named("simulate bandwidth"), words);
  if (!options) return options.failure();
  return simulate_bandwidth_options(*options);
}

std::string refusal(const std::vector<std::string>& words) {
  const auto options = read(words);
  if (options) return "accepted";
  EXPECT_EQ(options.failure().error, Error::kUsage);
  return options.failure().message;
}

TEST(SimulateCommand, TakesTheTable) {
  const auto table = read({"--table", "--json", "--svg", "a.svg"});
  ASSERT_TRUE(table.ok());
  EXPECT_FALSE(table->order);
  EXPECT_EQ(table->form, OutputForm::kJson);
  EXPECT_EQ(table->svg, "a.svg");
}

TEST(SimulateCommand, TakesAModelAndItsNetwork) {
  const auto options = read({"--model",     "10B",      "--links",   "1,1,0.25", "--exchange", "ring", "--latency-ms",
                             "50",          "--jitter", "0.1",       "--seed",   "7",          "--H",  "50",
                             "--fragments", "4",        "--overlap", "3",        "--bits",     "32",   "--pattern",
                             "sequential",  "--method", "streaming", "--gbit",   "2.5"});
  ASSERT_TRUE(options.ok()) << options.failure().message;
  const ComparisonOrder& order = *options->order;
  EXPECT_EQ(order.workload.name, "10B");
  EXPECT_EQ(order.network.workers, 3U);
  EXPECT_EQ(order.network.link_factors, (std::vector<double>{1, 1, 0.25}));
  EXPECT_EQ(order.network.exchange, Exchange::kRing);
  EXPECT_DOUBLE_EQ(order.network.latency_s, 0.05);
  EXPECT_EQ(order.network.seed, 7U);
  EXPECT_EQ(order.settings.H, 50U);
  EXPECT_EQ(order.settings.fragments, 4U);
  EXPECT_EQ(order.settings.overlap_steps, 3U);
  EXPECT_EQ(order.settings.bits, 32);
  EXPECT_EQ(order.settings.pattern, FragmentPattern::kSequential);
  EXPECT_EQ(order.methods, std::vector<Method>{Method::kStreaming});
  EXPECT_EQ(order.gbit_s, 2.5);
}

TEST(SimulateCommand, RefusesWhatMakesNoSense) {
  EXPECT_THAT(refusal({}), HasSubstr("--table"));
  EXPECT_THAT(refusal({"--table", "--model", "1B"}), HasSubstr("one of"));
  EXPECT_THAT(refusal({"--table", "--workers", "4"}), HasSubstr("--workers"));
  EXPECT_THAT(refusal({"--model", "2B"}), HasSubstr("1B, 10B and 100B"));
  EXPECT_THAT(refusal({"--model", "1B", "--exchange", "star"}), HasSubstr("gather, ring or owner"));
  EXPECT_THAT(refusal({"--model", "1B", "--links", "1,fast"}), HasSubstr("--links"));
  EXPECT_THAT(refusal({"--model", "1B", "--links", "1,0"}), HasSubstr("--links"));
  EXPECT_THAT(refusal({"--model", "1B", "--method", "gossip"}), HasSubstr("eager_overlap_fp4"));
  EXPECT_THAT(refusal({"--model", "1B", "--workers", "0"}), HasSubstr("--workers"));
  EXPECT_THAT(refusal({"--model", "1B", "--pattern", "random"}), HasSubstr("strided or sequential"));
  EXPECT_EQ(refusal({"--model", "1B"}), "accepted");
}

TEST(SimulateCommand, MeasuresARun) {
  const Scratch scratch;
  (void)scratch.file("config.toml", "[model]\nlayers = 4\n[pipeline]\nstages = 2\nreplicas = 3\n");
  std::string metrics;
  for (int i = 0; i < 20; ++i) {
    metrics += R"({"step":1,"step_ms":60,"time":{"forward":10,"backward":20,"reduce":20}})"
               "\n";
  }
  (void)scratch.file("metrics.jsonl", metrics);
  const auto options = read({"--run", scratch.path().string()});
  ASSERT_TRUE(options.ok()) << options.failure().message;
  const ComparisonOrder& order = *options->order;
  EXPECT_DOUBLE_EQ(order.workload.step_s, 0.04);
  EXPECT_EQ(order.workload.layers, 2U);
  EXPECT_GT(order.workload.values_per_layer, 100'000);
  EXPECT_EQ(order.network.workers, 3U);
  EXPECT_EQ(order.network.exchange, Exchange::kRing);
  EXPECT_EQ(order.settings.grain, SyncGrain::kStep);
  EXPECT_EQ(order.settings.bits, 32);
  const auto nothing = read({"--run", (scratch.path() / "nothing").string()});
  ASSERT_FALSE(nothing.ok());
  EXPECT_EQ(nothing.failure().error, Error::kUsage) << "as every command that is given no run";
}

TEST(SimulateCommand, ASingleProcessIsAStageOfItsOwn) {
  const Scratch scratch;
  (void)scratch.file("config.toml", "[model]\nlayers = 4\n[pipeline]\nstages = 2\nreplicas = 3\n");
  (void)scratch.file("metrics.jsonl",
                     R"({"step":1,"step_ms":60,"replicas":[1],"time":{"forward":10,"backward":20,"reduce":20}})"
                     "\n");
  const auto options = read({"--run", scratch.path().string()});
  ASSERT_TRUE(options.ok()) << options.failure().message;
  EXPECT_EQ(options->order->workload.layers, 4U);
  EXPECT_EQ(options->order->network.workers, 2U);
}

}  // namespace
}  // namespace shoal::simulate_test
