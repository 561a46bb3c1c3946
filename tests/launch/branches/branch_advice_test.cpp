// Advice after a divergence says what to change, from which value to which, and where to go on from.
#include "launch/branches/branch_advice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "launch/branches/branch_keys.h"
#include "runtime/base/config_file.h"
#include "runtime/trace/metrics/step_record.h"
#include "tests/runtime/data/scratch.h"

namespace shoal::branch_advice_test {
namespace {

using Changes = std::vector<KeyChange>;

Config config_with(const std::vector<std::string>& sets) {
  const auto config = load_config({{}, {}, sets});
  EXPECT_TRUE(config.ok()) << config.failure().message;
  return *config;
}

// The branches of a run whose configuration was changed from each of these to the next, the newest first.
std::vector<BranchRecord> told_of(const std::vector<Config>& configs) {
  std::vector<BranchRecord> told;
  for (std::size_t index = 1; index < configs.size(); ++index) {
    told.insert(told.begin(), BranchRecord{"b", Branch{static_cast<std::uint32_t>(index)}, 10,
                                           changes_between(configs[index - 1], configs[index]), ""});
  }
  return told;
}

TEST(BranchAdvice, IsHalfTheRateAndATenthWhereABranchHasLoweredIt) {
  const Config first = config_with({"optim.lr=0.003"});
  const Config half = config_with({"optim.lr=0.0015"});
  EXPECT_EQ(advised_changes(first, first, {}), (Changes{{"optim.lr", "0.003", "0.0015"}}));
  EXPECT_EQ(advised_changes(half, half, told_of({first, half})), (Changes{{"optim.lr", "0.0015", "0.00015"}}));
  EXPECT_EQ(advised_changes(first, half, told_of({first, half})), (Changes{{"optim.lr", "0.003", "0.00015"}}))
      << "the branch diverged before its first checkpoint";
}

TEST(BranchAdvice, IsTheKeyThatIsWrongRatherThanTheRate) {
  const Config unclipped = config_with({"optim.clip_norm=0"});
  EXPECT_EQ(advised_changes(unclipped, unclipped, {}), (Changes{{"optim.clip_norm", "0.0", "1.0"}}));
  const Config rising = config_with({"optim.lr=0.003", "optim.min_lr=1e30"});
  EXPECT_EQ(advised_changes(rising, rising, {}), (Changes{{"optim.min_lr", "1e+30", "3e-04"}}));
  const Config constant = config_with({"optim.lr=0.003", "optim.min_lr=1e30", "optim.schedule=constant"});
  EXPECT_EQ(advised_changes(constant, constant, {}), (Changes{{"optim.lr", "0.003", "0.0015"}})) << "it has no floor";
}

TEST(BranchAdvice, LowersAFloorWithItsRate) {
  const Config low = config_with({"optim.lr=1.5e-4", "optim.min_lr=1e-4"});
  const Changes changes = advised_changes(low, low, {});
  ASSERT_EQ(changes.size(), 2U);
  EXPECT_EQ(changes[1].key, "optim.min_lr");
  EXPECT_EQ(std::stod(changes[0].now), 7.5e-5);
  EXPECT_EQ(std::stod(changes[1].now), 7.5e-6);
}

TEST(BranchAdvice, KnowsFromWhichStepOnAStateIsUseless) {
  const auto lines_of = [](double loss, std::uint64_t skipped_from) {
    std::string lines;
    for (std::uint64_t step = 18; step < 24; ++step) {
      StepRecord record;
      record.step = step;
      record.loss = step < skipped_from ? 2.5 : loss;
      if (step >= skipped_from) record.skipped = "the loss is not finite";
      lines += to_json_line(record) + "\n";
    }
    return lines + to_json_line(RunEvent{RunEventKind::kFailed, "run", "training diverged", 24}) + "\n";
  };
  const Scratch scratch;
  const auto useless = [&](double loss, std::uint64_t skipped_from) {
    return useless_from(scratch.file("metrics.jsonl", lines_of(loss, skipped_from)).string());
  };
  constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(useless(kNotANumber, 20), 20U);
  EXPECT_EQ(useless(1000, 20), 20U) << "nats per token: its perplexity is beyond all numbers";
  EXPECT_EQ(useless(2.5, 20), std::nullopt);
  EXPECT_EQ(useless(kNotANumber, 24), std::nullopt) << "none was skipped";
  EXPECT_EQ(useless_from("/nowhere"), std::nullopt);
  EXPECT_EQ(skipped_from(scratch.file("metrics.jsonl", lines_of(2.5, 20)).string()), 20U) << "whatever the loss";
  EXPECT_EQ(skipped_from(scratch.file("metrics.jsonl", lines_of(2.5, 24)).string()), std::nullopt);
  EXPECT_EQ(skipped_from("/nowhere"), std::nullopt);
}

// A branch with another rate would begin with the same weights, and so with the same loss.
TEST(BranchAdvice, BlamesTheFirstWeightsWhereNoStepWasApplied) {
  const Config wide = config_with({"model.init_std=1e30"});
  const auto advice = [](const Config& now, bool is_imported) {
    return advice_on_first_weights("shoal train", "runs/a b", now, is_imported);
  };
  EXPECT_THAT(advice(wide, false),
              testing::AllOf(testing::HasSubstr("before a step was applied"),
                             testing::HasSubstr("model.init_std = 0.02 instead of 1e+30"),
                             testing::HasSubstr(": shoal train 'runs/a b/config.toml' --set model.init_std=0.02"),
                             testing::Not(testing::HasSubstr("--branch"))));
  EXPECT_THAT(advice(config_with({}), false), testing::HasSubstr("another model or another text: "));
  EXPECT_THAT(advice(wide, true),
              testing::AllOf(testing::HasSubstr("import others"), testing::Not(testing::HasSubstr("init_std"))));
}

// A person raised the rate on a branch: the run that it began at has not diverged.
TEST(BranchAdvice, SaysOfNoOtherRateThatItDiverged) {
  const Config trunk = config_with({"optim.lr=0.001"});
  const Config hot = config_with({"optim.lr=0.5"});
  const Changes changes = advised_changes(trunk, hot, told_of({trunk, hot}));
  EXPECT_THAT(advice_text("shoal train", "r", {10, trunk}, changes, hot),
              testing::HasSubstr("with optim.lr = 5e-04 instead of 0.001 (0.5 diverged): "));
}

TEST(BranchAdvice, IsOneSentenceWithBothValuesAndTheCommand) {
  const Config first = config_with({"optim.lr=0.003"});
  const Config half = config_with({"optim.lr=0.0015"});
  EXPECT_EQ(advice_text("shoal train", "runs/a b", {10, first}, {{"optim.lr", "0.003", "0.0015"}}, first),
            "training diverged; go on from the checkpoint after 10 steps with optim.lr = 0.0015 instead of 0.003: "
            "shoal train --resume 'runs/a b' --branch NAME --from 10 --set optim.lr=0.0015");
  EXPECT_EQ(advice_text("shoal train --single", "r", {0, first}, {{"optim.lr", "0.003", "0.00015"}}, half),
            "training diverged; go on from the beginning with optim.lr = 0.00015 instead of 0.003 (0.0015 diverged): "
            "shoal train --single --resume r --branch NAME --from 0 --set optim.lr=0.00015");
}

}  // namespace
}  // namespace shoal::branch_advice_test
