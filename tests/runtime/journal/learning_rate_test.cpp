// The schedule at its corners, and clipping.
#include "runtime/journal/learning_rate.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>
#include <vector>

#include "runtime/base/config_keys.h"

namespace shoal::learning_rate_test {
namespace {

OptimConfig optim() {
  OptimConfig optim;
  optim.lr = 1e-3;
  optim.min_lr = 1e-4;
  optim.warmup_steps = 10;
  optim.decay_steps = 110;
  return optim;
}

TEST(LearningRate, WarmsUpFromTheFirstStepToTheFullRate) {
  EXPECT_DOUBLE_EQ(learning_rate(optim(), 0), 1e-4);
  EXPECT_DOUBLE_EQ(learning_rate(optim(), 4), 5e-4);
  EXPECT_DOUBLE_EQ(learning_rate(optim(), 9), 1e-3);
}

TEST(LearningRate, FallsAlongACosineToTheLeastRate) {
  EXPECT_DOUBLE_EQ(learning_rate(optim(), 10), 1e-3);
  EXPECT_DOUBLE_EQ(learning_rate(optim(), 60), 5.5e-4);
  EXPECT_DOUBLE_EQ(learning_rate(optim(), 110), 1e-4);
  EXPECT_DOUBLE_EQ(learning_rate(optim(), 100000), 1e-4);
}

TEST(LearningRate, ConstantWarmsUpTooAndStays) {
  OptimConfig constant = optim();
  constant.schedule = LearningRateSchedule::kConstant;
  EXPECT_DOUBLE_EQ(learning_rate(constant, 4), 5e-4);
  EXPECT_DOUBLE_EQ(learning_rate(constant, 5000), 1e-3);
}

// Returns the rates half-way and after the end, with every word that a person may give for the schedule.
std::vector<std::pair<double, double>> rates_of_every_schedule() {
  const ConfigKey* const key = find_config_key("optim.schedule");
  std::vector<std::pair<double, double>> rates;
  for (const std::string& word : key->choices) {
    Config config;
    config.optim = optim();
    key->set(config, word);
    rates.emplace_back(learning_rate(config.optim, 60), learning_rate(config.optim, 5000));
  }
  return rates;
}

TEST(LearningRate, EveryScheduleThatCanBeChosenHasACurveOfItsOwn) {
  const auto rates = rates_of_every_schedule();
  EXPECT_GE(rates.size(), 2U);
  EXPECT_EQ(std::set(rates.begin(), rates.end()).size(), rates.size());
}

TEST(LearningRate, NeedsNoWarmUp) {
  OptimConfig cold = optim();
  cold.warmup_steps = 0;
  EXPECT_DOUBLE_EQ(learning_rate(cold, 0), 1e-3);
  cold.decay_steps = 0;
  EXPECT_DOUBLE_EQ(learning_rate(cold, 0), 1e-4);
}

}  // namespace
}  // namespace shoal::learning_rate_test
