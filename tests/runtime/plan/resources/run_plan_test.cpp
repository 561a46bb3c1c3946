// Tests the plan of a configuration: bytes against what runs measured, times, what fits, what one more machine brings.
#include "runtime/plan/resources/run_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "launch/commands/plan/model_cut.h"
#include "runtime/plan/resources/plan_report.h"

namespace shoal::run_plan_test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;

// The layouts that were measured with eight microbatches of four sequences.
Config layout(int width, int layers, int stages, int replicas) {
  Config config;
  config.model.width = width;
  config.model.layers = layers;
  config.pipeline.stages = stages;
  config.pipeline.replicas = replicas;
  config.batch = {32, 4};
  return config;
}

PlanOrder order_of(Config config, std::vector<MachineKind> kinds = {}) {
  PlanOrder order;
  order.config = std::move(config);
  if (auto model = cuts_of(order.config)) order.model = std::move(*model);
  order.kinds = std::move(kinds);
  return order;
}

RunPlan planned(const PlanOrder& order) {
  auto plan = plan_run(order);
  EXPECT_TRUE(plan.ok()) << (plan.ok() ? "" : plan.failure().message);
  return std::move(plan.value());
}

MachineKind kind_of(const std::string& text) { return machine_kind_of(text).value(); }

void expect_near(std::uint64_t value, double measured, double share) {
  EXPECT_NEAR(static_cast<double>(value), measured, share * measured);
}

TEST(RunPlan, BytesOfLinksAreThoseThatRunsMeasured) {
  const auto two_by_two = planned(order_of(layout(256, 4, 2, 2))).traffic;
  expect_near(two_by_two.activation, 4213056, 0.001);
  expect_near(two_by_two.gradient, 4198784, 0.001);
  expect_near(two_by_two.reduce, 26593184, 0.001);
  Config deep = layout(512, 8, 4, 1);
  deep.sync.reduction = Reduction::kExact;
  const auto four_by_one = planned(order_of(deep)).traffic;
  expect_near(four_by_one.activation, 25222464, 0.001);
  expect_near(four_by_one.gradient, 25175744, 0.001);
  EXPECT_EQ(four_by_one.reduce, 0U);
  const auto one_by_three = planned(order_of(layout(512, 4, 1, 3))).traffic;
  EXPECT_EQ(one_by_three.activation, 0U);
  EXPECT_EQ(one_by_three.gradient, 2048U);
  expect_near(one_by_three.reduce, 207055040, 0.001);
}

TEST(RunPlan, ExactModeDoublesTheReductionAndInt8QuartersTheActivations) {
  Config config = layout(256, 4, 2, 2);
  const auto fast = planned(order_of(config)).traffic;
  config.sync.reduction = Reduction::kExact;
  config.pipeline.activations = WireFormat::kInt8;
  const auto other = planned(order_of(config)).traffic;
  EXPECT_EQ(other.reduce, 2 * fast.reduce);
  EXPECT_NEAR(static_cast<double>(other.activation) / static_cast<double>(fast.activation), 0.257, 0.003);
}

// The largest resident memory of a stage's workers, in bytes (launch/experiments/plan.md).
TEST(RunPlan, MemoryIsThatOfWorkers) {
  const auto two_by_two = planned(order_of(layout(256, 4, 2, 2)));
  expect_near(total_bytes(two_by_two.stages[0].memory), 286e6, 0.1);
  expect_near(total_bytes(two_by_two.stages[1].memory), 289e6, 0.1);
  Config deep = layout(512, 8, 4, 1);
  deep.sync.reduction = Reduction::kExact;
  const auto four_by_one = planned(order_of(deep));
  expect_near(total_bytes(four_by_one.stages[0].memory), 690e6, 0.1);
  expect_near(total_bytes(four_by_one.stages[1].memory), 603e6, 0.1);
  expect_near(total_bytes(four_by_one.stages[2].memory), 603e6, 0.1);
  expect_near(total_bytes(four_by_one.stages[3].memory), 553e6, 0.1);
  const auto three_by_one = planned(order_of(layout(512, 6, 3, 1)));
  expect_near(total_bytes(three_by_one.stages[0].memory), 576e6, 0.1);
  expect_near(total_bytes(three_by_one.stages[1].memory), 574e6, 0.1);
  expect_near(total_bytes(three_by_one.stages[2].memory), 483e6, 0.1);
  const auto one_by_three = planned(order_of(layout(512, 4, 1, 3)));
  expect_near(total_bytes(one_by_three.stages[0].memory), 817e6, 0.1);
  Config recomputing = layout(512, 4, 2, 1);
  recomputing.batch = {64, 16};
  recomputing.pipeline.recompute = true;
  const auto recomputed = planned(order_of(recomputing));
  expect_near(total_bytes(recomputed.stages[0].memory), 651e6, 0.1);
  expect_near(total_bytes(recomputed.stages[1].memory), 640e6, 0.1);
}

TEST(RunPlan, StatesWhatCreditsLetAReplicaHold) {
  Config config = layout(512, 8, 4, 1);
  const auto plan = planned(order_of(config));
  const std::uint64_t border = 4ULL * 128 * 512 * 4;  // one microbatch's activation, float32
  for (std::size_t stage = 0; stage < 4; ++stage) {
    const PlannedStage& one = plan.stages[stage];
    EXPECT_EQ(one.credits.microbatches, 5U) << "one for each stage, and one on the wire";
    EXPECT_EQ(one.credits.at_most, 8U) << "twice as many where links take long, but no more than a step has";
    EXPECT_EQ(one.credits.input_bytes, 8 * (stage == 0 ? 4U * 128 * 8 : border));
    EXPECT_GE(one.credits.total_bytes, total_bytes(one.memory));
  }
  config.pipeline.credits = 2;
  const auto fewer = planned(order_of(config));
  EXPECT_EQ(fewer.stages[2].credits.at_most, 2U) << "what is set stays";
  EXPECT_EQ(fewer.stages[2].credits.input_bytes, 2 * border);
  EXPECT_LT(fewer.stages[2].credits.total_bytes, plan.stages[2].credits.total_bytes);
  EXPECT_EQ(nlohmann::json::parse(json_of(fewer))["stages"][2]["credits"]["input_bytes"], 2 * border);
}

TEST(RunPlan, RecomputingAndFewerCreditsTakeLessMemory) {
  Config config = layout(512, 8, 2, 1);
  const auto usual = total_bytes(planned(order_of(config)).stages[0].memory);
  config.pipeline.credits = 1;
  const auto one_credit = total_bytes(planned(order_of(config)).stages[0].memory);
  config.pipeline.recompute = true;
  const auto recomputed = total_bytes(planned(order_of(config)).stages[0].memory);
  EXPECT_LT(one_credit, usual);
  EXPECT_LT(recomputed, one_credit);
}

TEST(RunPlan, Bf16TakesCopiesOfWeightsAndKeepsLessForTheBackwardPass) {
  Config config = layout(512, 4, 1, 1);
  const MemoryNeed fp32 = planned(order_of(config)).stages[0].memory;
  config.model.precision = Precision::kBf16;
  const MemoryNeed bf16 = planned(order_of(config)).stages[0].memory;
  EXPECT_EQ(fp32.copies, 0U);
  EXPECT_LT(bf16.copies, fp32.weights / 2);
  EXPECT_GT(bf16.copies, fp32.weights * 9 / 20) << "all but the embedding and the norms";
  expect_near(bf16.activations, 0.6 * static_cast<double>(fp32.activations), 0.05);
  EXPECT_EQ(total_bytes(bf16) - bf16.copies + fp32.activations + fp32.allocator,
            total_bytes(fp32) + bf16.activations + bf16.allocator)
      << "and nothing else";
}

// One stage's replica in rounds, and bytes of a float32 vector of its parameters.
struct InRounds {
  MemoryNeed need;
  std::uint64_t vector = 0;
  std::uint64_t largest = 0;  // tensor
};

InRounds in_rounds(const Config& rounds, int replicas = 2) {
  Config config = rounds;
  config.sync.mode = SyncMode::kDiloco;
  config.pipeline.replicas = replicas;
  const PlannedStage stage = planned(order_of(config)).stages[0];
  return {stage.memory, 4 * stage.cut.parameter_count, 4 * stage.cut.largest_tensor};
}

TEST(RunPlan, RoundsThatAreWaitedForTakeThePlaceOfActivations) {
  Config config = layout(256, 4, 1, 2);
  const InRounds plain = in_rounds(config);
  EXPECT_EQ(plain.need.rounds, 0U);
  EXPECT_EQ(plain.need.reduction, 5 * plain.vector) << "the contribution, what it weighs, the sum, parts on their way";
  EXPECT_EQ(in_rounds(config, 1).need.reduction, 2 * plain.vector);
  config.sync.inner_state = InnerState::kAverage;
  EXPECT_EQ(in_rounds(config).need.reduction, 15 * plain.vector) << "the averages travel, too";
  config.optim.kind = OptimizerKind::kSgd;
  EXPECT_EQ(in_rounds(config).need.reduction, 5 * plain.vector) << "there are none";
  config = layout(256, 4, 1, 2);
  config.sync.wire = WireFormat::kInt8;
  config.sync.error_feedback = true;
  EXPECT_EQ(in_rounds(config).need.reduction, 6 * plain.vector) << "what encoding left out";
  EXPECT_EQ(in_rounds(config).need.rounds, plain.vector) << "and what it left out of the round before";
  EXPECT_EQ(in_rounds(config, 1).need.rounds, 0U) << "nothing is encoded";
  config.sync.inner_state = InnerState::kAverage;
  EXPECT_EQ(in_rounds(config).need.rounds, 3 * plain.vector);
  config = layout(256, 4, 1, 2);
  config.sync.fragments = 2;
  const std::uint64_t fragment = plain.vector / 2 + plain.largest;
  EXPECT_LE(in_rounds(config).need.reduction, 5 * fragment);
  EXPECT_GT(in_rounds(config).need.reduction, 5 * plain.vector / 2);
}

TEST(RunPlan, RoundsInFlightAreThereBesideActivations) {
  Config config = layout(256, 4, 1, 2);
  const InRounds waited_for = in_rounds(config);
  config.sync.overlap = 3;
  const InRounds overlapped = in_rounds(config);
  EXPECT_EQ(overlapped.need.rounds, 5 * waited_for.vector);
  EXPECT_EQ(overlapped.need.reduction, overlapped.need.accumulators) << "a step's own sum";
  EXPECT_GT(total_bytes(overlapped.need), total_bytes(waited_for.need));
  config.sync.fragments = 4;
  EXPECT_LT(in_rounds(config).need.rounds, overlapped.need.rounds) << "few of them at a time";
  config = layout(256, 4, 1, 2);
  config.sync.outer_update = OuterUpdate::kDelayed;
  config.sync.fragments = 4;
  EXPECT_EQ(in_rounds(config).need.rounds, 5 * waited_for.vector) << "all of them";
  config.sync.wire = WireFormat::kInt8;
  config.sync.error_feedback = true;
  EXPECT_EQ(in_rounds(config).need.rounds, 8 * waited_for.vector) << "and what two encodings left out";
}

TEST(RunPlan, AnEagerUpdateHasScratchOfTheLargestTensor) {
  Config config = layout(256, 4, 1, 2);
  const InRounds waits = in_rounds(config);
  EXPECT_EQ(waits.need.outer, 2 * waits.vector);
  config.sync.outer_update = OuterUpdate::kEager;
  EXPECT_EQ(in_rounds(config).need.outer, 4 * waits.vector + 2 * waits.largest);
  EXPECT_EQ(waits.largest, 4U * 4 * 256 * 256) << "a matrix of an MLP";
}

TEST(RunPlan, DropoutKeepsItsMasksOnAProcessor) {
  Config config = layout(512, 4, 1, 1);
  const MemoryNeed without = planned(order_of(config)).stages[0].memory;
  config.model.dropout = 0.1;
  const PlannedStage stage = planned(order_of(config)).stages[0];
  EXPECT_EQ(stage.memory.activations - without.activations, (2U * 4 + 1) * 512 * 4 * 4 * 128);
}

TEST(RunPlan, WithoutASpeedThereAreNoTimes) {
  const auto plan = planned(order_of(layout(256, 4, 2, 2)));
  EXPECT_FALSE(plan.tokens_per_s);
  EXPECT_FALSE(plan.price_per_billion_tokens);
  EXPECT_THAT(text_of(plan), HasSubstr("tokens per second: unknown"));
  EXPECT_TRUE(nlohmann::json::parse(json_of(plan))["tokens_per_s"].is_null());
}

TEST(RunPlan, OneToOneToThreeSplitsWholeMicrobatches) {
  Config config = layout(64, 2, 1, 3);
  config.batch = {42, 1};
  PlanOrder order = order_of(config, {kind_of("fast=20msx2"), kind_of("slow=60msx1")});
  order.commit_s = 0;
  const auto plan = planned(order);
  ASSERT_TRUE(plan.time);
  EXPECT_NEAR(plan.time->total_s, 18 * 0.06, 1e-9);  // 18 + 18 + 6
  EXPECT_EQ(best_split({0.06, 0.06, 0.18}, 42).shares, (std::vector<std::uint64_t>{18, 18, 6}));
}

TEST(RunPlan, ASlowLinkIsTheSlowestStage) {
  Config config = layout(256, 4, 2, 1);
  PlanOrder order = order_of(config, {kind_of("m=5ms")});
  const double quick = *planned(order).tokens_per_s;
  order.link_bit_s = 10e6;
  const auto plan = planned(order);
  EXPECT_LT(*plan.tokens_per_s, 0.2 * quick);
  EXPECT_NEAR(plan.time->compute_s, 4.2e6 * 8 / 10e6, 0.02);
}

TEST(RunPlan, SaysWhatFitsAndWhatWould) {
  PlanOrder order = order_of(layout(512, 8, 2, 1));
  order.memory_bytes = 10'000'000'000;
  EXPECT_TRUE(planned(order).fits);
  const auto needed = planned(order).stages[0].credits.total_bytes;
  order.memory_bytes = needed - 50'000'000;
  const auto plan = planned(order);
  EXPECT_FALSE(plan.fits);
  EXPECT_THAT(plan.would_fit, Contains("pipeline.recompute=true"));
  EXPECT_THAT(plan.would_fit, Contains("pipeline.stages=3"));
  for (const std::string& setting : plan.would_fit) EXPECT_THAT(text_of(plan), HasSubstr("--set " + setting));
  Config changed = order.config;
  changed.pipeline.stages = 3;
  PlanOrder with = order_of(changed);
  with.memory_bytes = order.memory_bytes;
  EXPECT_TRUE(planned(with).fits);
  order.memory_bytes = 1'000'000;
  EXPECT_TRUE(planned(order).would_fit.empty());
  EXPECT_THAT(text_of(planned(order)), HasSubstr("It does not fit: not with a stage for each layer"));
}

TEST(RunPlan, SaysWhatFitsTogetherWhereNoChangeAloneIsEnough) {
  PlanOrder order = order_of(layout(512, 2, 2, 1));  // as many stages as layers
  PlanOrder least = order;
  least.config.pipeline.recompute = true;
  least.config.pipeline.credits = 1;
  least.config.batch.microbatch = 1;
  std::uint64_t bytes = 0;
  for (const PlannedStage& stage : planned(least).stages) bytes = std::max(bytes, stage.credits.total_bytes);
  order.memory_bytes = bytes;
  const auto plan = planned(order);
  EXPECT_FALSE(plan.fits);
  EXPECT_TRUE(plan.would_fit.empty());
  EXPECT_EQ(plan.would_fit_together,
            (std::vector<std::string>{"pipeline.recompute=true", "pipeline.credits=1", "batch.microbatch=1"}));
  EXPECT_THAT(text_of(plan), AllOf(HasSubstr("It would with all of"), HasSubstr("--set batch.microbatch=1\n")));
  order.memory_bytes = bytes - 1;
  EXPECT_TRUE(planned(order).would_fit_together.empty());
}

TEST(RunPlan, MoreStagesMayFitTogetherWithTheRest) {
  PlanOrder order = order_of(layout(512, 8, 2, 1));
  PlanOrder least = order;
  least.config.pipeline.recompute = true;
  least.config.pipeline.credits = 1;
  least.config.batch.microbatch = 1;
  const auto largest = [](const PlanOrder& of) {
    std::uint64_t bytes = 0;
    for (const PlannedStage& stage : planned(of).stages) bytes = std::max(bytes, stage.credits.total_bytes);
    return bytes;
  };
  const std::uint64_t in_two_stages = largest(least);
  least.config.pipeline.stages = 8;
  order.memory_bytes = largest(least);
  ASSERT_GT(in_two_stages, *order.memory_bytes);
  const auto plan = planned(order);
  ASSERT_TRUE(plan.would_fit.empty());
  EXPECT_THAT(plan.would_fit_together, Contains("pipeline.stages=8"));
  PlanOrder with = order_of(least.config);
  with.memory_bytes = order.memory_bytes;
  EXPECT_TRUE(planned(with).fits) << "all of them at once";
}

// Slow links make a replica hold twice the schedule's credits; a key that sets them does not.
TEST(RunPlan, FitsWithAllCreditsOrWithThoseThatAreSet) {
  PlanOrder order = order_of(layout(512, 8, 2, 1));
  order.memory_bytes = total_bytes(planned(order).stages[0].memory) + 20'000'000;
  const auto plan = planned(order);
  EXPECT_FALSE(plan.fits);
  EXPECT_THAT(plan.would_fit, Contains("pipeline.credits=3"));
  order.config.pipeline.credits = 3;
  EXPECT_TRUE(planned(order).fits);
}

TEST(RunPlan, OneMoreMachineHelpsMostWhereItIsShort) {
  const auto plan = planned(order_of(layout(256, 4, 2, 1), {kind_of("fast=100x2"), kind_of("slow=1")}));
  ASSERT_EQ(plan.one_more.size(), 2U);
  EXPECT_GE(plan.one_more[0].tokens_per_s, *plan.tokens_per_s);
  EXPECT_GT(plan.one_more[0].tokens_per_s, plan.one_more[1].tokens_per_s);
}

TEST(RunPlan, APriceIsPaidForAllMachines) {
  MachineKind kind = kind_of("m=1000x4");
  kind.price_per_hour = 2;
  const auto plan = planned(order_of(layout(256, 4, 2, 2), {kind}));
  EXPECT_NEAR(*plan.price_per_billion_tokens, 8.0 / 3600 / *plan.tokens_per_s * 1e9, 1e-6);
}

TEST(RunPlan, RefusesTooFewMachinesAndSpeedsThatDoNotCompare) {
  EXPECT_EQ(plan_run(order_of(layout(256, 4, 2, 2), {kind_of("m=1x1")})).failure().error, Error::kUsage);
  EXPECT_EQ(plan_run(order_of(layout(256, 4, 2, 2), {kind_of("m=1"), kind_of("n=5ms")})).failure().error,
            Error::kUsage);
  EXPECT_EQ(plan_run(order_of(layout(256, 4, 5, 1))).failure().error, Error::kUsage);
}

TEST(RunPlan, JsonHasWhatTheContractNames) {
  const auto json = nlohmann::json::parse(json_of(planned(order_of(layout(256, 4, 2, 2), {kind_of("m=100")}))));
  ASSERT_EQ(json["stages"].size(), 2U);
  EXPECT_EQ(json["stages"][1]["layers"], (std::vector<int>{2, 3}));
  EXPECT_EQ(json["stages"][0]["fits"], true);
  for (const char* item : {"weights", "optimizer", "activations"}) {
    EXPECT_GT(json["stages"][0]["bytes"][item].get<std::uint64_t>(), 0U) << item;
  }
  EXPECT_GT(json["tokens_per_s"].get<double>(), 0);
  EXPECT_GT(json["link_bytes_per_step"]["activation"].get<std::uint64_t>(), 0U);
}

TEST(MachineKinds, AreReadAndRefused) {
  EXPECT_DOUBLE_EQ(*kind_of("a=100").multiply_adds_s, 50e9);
  EXPECT_DOUBLE_EQ(*kind_of("a=60ms").forward_s, 0.06);
  EXPECT_EQ(*kind_of("a=1.5x12").count, 12U);
  for (const char* text : {"a", "=3", "a=", "a=-1", "a=0", "a=3s", "a=3x", "a=3x0", "a=3x1.5", "a=nan"}) {
    EXPECT_FALSE(machine_kind_of(text).ok()) << text;
  }
  EXPECT_EQ(bytes_of_text("24G").value(), 24'000'000'000U);
  EXPECT_EQ(bytes_of_text("1.5Mi").value(), 1'572'864U);
  EXPECT_EQ(bytes_of_text("8000000").value(), 8'000'000U);
  EXPECT_EQ(bytes_of_text("1000k").value(), 1'000'000U);
  for (const char* text : {"", "G", "1X", "1GG", "-1", "1 G", "1e40", "1k", "1"})
    EXPECT_FALSE(bytes_of_text(text).ok()) << text;
  EXPECT_EQ(rate_of_text("--limit-up", "1.5M").value(), 1'500'000U);
  for (const char* off : {"0", "0M", "0.0"}) EXPECT_EQ(rate_of_text("--limit-up", off).value(), std::nullopt) << off;
  for (const char* text : {"", "M", "0X", "-1M", "1k", "1e40", "0 "})
    EXPECT_FALSE(rate_of_text("--limit-up", text).ok()) << text;
}

TEST(RunPlan, FollowsTheCutOfTheConfiguration) {
  Config config = layout(256, 8, 2, 1);
  config.pipeline.cut = Cut::kListed;
  config.pipeline.cut_listed = {6, 2};
  const auto plan = planned(order_of(config));
  EXPECT_EQ(plan.stages[0].cut.layer_count, 6);
  EXPECT_EQ(plan.stages[1].cut.layer_count, 2);
  EXPECT_GT(total_bytes(plan.stages[0].memory), total_bytes(plan.stages[1].memory));
}

TEST(RunPlan, ColumnsNeverTouch) {
  const std::string text = text_of(planned(order_of(layout(256, 4, 2, 2), {kind_of("a-machine-with-a-name=300")})));
  EXPECT_THAT(text, HasSubstr("replicas        2xa-machine-with-a-name  2xa-machine-with-a-name\n"));
  EXPECT_THAT(text_of(planned(order_of(layout(256, 4, 2, 2)))), HasSubstr("replicas                2          2\n"))
      << "the usual width";
}

TEST(RunPlan, ProposesLayersByTheSpeedOfUnequalMachines) {
  Config config = layout(256, 12, 2, 1);
  const PlanOrder order = order_of(config, {kind_of("fast=300x1"), kind_of("slow=100x1")});
  const auto plan = planned(order);
  ASSERT_TRUE(plan.better_cut);
  ASSERT_EQ(plan.better_cut->layers.size(), 2U);
  EXPECT_EQ(plan.better_cut->layers[0] + plan.better_cut->layers[1], 12);
  PlanOrder with = order;
  with.config.pipeline.cut = Cut::kListed;
  with.config.pipeline.cut_listed = plan.better_cut->layers;
  EXPECT_EQ(planned(with).tokens_per_s, plan.better_cut->tokens_per_s) << "what it says is what it plans";
  EXPECT_GT(plan.better_cut->tokens_per_s, 1.4 * *plan.tokens_per_s);
  EXPECT_FALSE(planned(with).better_cut) << "there is no better one";
  EXPECT_THAT(text_of(plan), HasSubstr("--set pipeline.cut=["));
  EXPECT_EQ(nlohmann::json::parse(json_of(plan))["better_cut"]["layers"].size(), 2U);
  EXPECT_FALSE(planned(order_of(config, {kind_of("a=100x2")})).better_cut) << "equal machines";
  EXPECT_FALSE(planned(order_of(config, {kind_of("a=10msx1"), kind_of("b=30msx1")})).better_cut) << "paced ones";
}

}  // namespace
}  // namespace shoal::run_plan_test
