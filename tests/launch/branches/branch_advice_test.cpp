// After a divergence a person reads what to change, from which value to which, and where to go on from.
#include "launch/branches/branch_advice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launch/branches/branch_keys.h"
#include "runtime/base/config_file.h"

namespace shoal {
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

TEST(BranchAdvice, IsOneSentenceWithBothValuesAndTheCommand) {
  const Config first = config_with({"optim.lr=0.003"});
  const Config half = config_with({"optim.lr=0.0015"});
  EXPECT_EQ(advice_text("shoal train", "runs/a b", {10, first}, {{"optim.lr", "0.003", "0.0015"}}, first),
            "training diverged; go on from the checkpoint after 10 steps with optim.lr = 0.0015 instead of 0.003: "
            "shoal train --resume 'runs/a b' --branch NAME --from 10 --set optim.lr=0.0015");
  EXPECT_EQ(advice_text("shoal train --single", "r", {0, first}, {{"optim.lr", "0.003", "0.00015"}}, half),
            "training diverged; go on from the beginning with optim.lr = 0.00015 instead of 0.003 (0.0015 diverged, "
            "too): shoal train --single --resume r --branch NAME --from 0 --set optim.lr=0.00015");
}

}  // namespace
}  // namespace shoal
