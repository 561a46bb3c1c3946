// Tests the options of `shoal simulate swarm`.
#include "launch/commands/plan/simulate_swarm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "launch/interface.h"
#include "tests/runtime/data/scratch.h"

namespace shoal::simulate_swarm_test {
namespace {

using testing::HasSubstr;

Result<SimulateSwarmOptions> read(const std::vector<std::string>& words) {
  const auto options = parse_options(command_named("simulate swarm"), words);
  if (!options) return options.failure();
  return simulate_swarm_options(*options);
}

std::string refusal(const std::vector<std::string>& words) {
  const auto options = read(words);
  return options ? "accepted" : options.failure().message;
}

TEST(SimulateSwarmCommand, HasPinnedDefaults) {
  const auto options = read({});
  ASSERT_TRUE(options.ok());
  const SwarmOrder& order = options->order;
  EXPECT_EQ(order.model.nodes, 1000U);
  EXPECT_EQ(order.model.hours, 32);
  EXPECT_EQ(order.seeds, 10U);
  EXPECT_EQ(stages_of(order), 28U);
  EXPECT_EQ(order.rebalance_s, (std::vector<std::optional<double>>{std::nullopt, 300.0, 60.0}));
}

TEST(SimulateSwarmCommand, TakesMachinesAndPolicies) {
  const auto options =
      read({"--nodes",    "50",    "--hours",   "2",   "--rebalance",      "none,30", "--stages",    "4",
            "--seeds",    "3",     "--speeds",  "1,3", "--lifetime-hours", "5",       "--links",     "10,20",
            "--state-mb", "100",   "--warm-up", "1",   "--least-gain",     "0.05",    "--newcomers", "gain",
            "--json",     "--svg", "a.svg"});
  ASSERT_TRUE(options.ok()) << options.failure().message;
  const SwarmOrder& order = options->order;
  EXPECT_EQ(order.model.speeds, (std::vector<double>{1, 3}));
  EXPECT_EQ(order.model.lifetime_h, 5);
  EXPECT_EQ(order.model.link_high_bit_s, 20e6);
  EXPECT_EQ(order.run.state_bits, 8e8);
  EXPECT_EQ(order.run.rule.least_gain, 0.05);
  EXPECT_EQ(order.run.newcomers, NewcomerRule::kGain);
  EXPECT_EQ(stages_of(order), 4U);
}

TEST(SimulateSwarmCommand, TakesControls) {
  const auto usual = read({});
  ASSERT_TRUE(usual.ok());
  EXPECT_GT(usual->order.run.rule.least_gain, 0);
  EXPECT_TRUE(std::isfinite(usual->order.run.rule.horizon_s));
  EXPECT_EQ(usual->order.run.speed_error, 0);
  const auto control = read({"--hysteresis", "off", "--move-cost", "ignored", "--speed-error", "0.1"});
  ASSERT_TRUE(control.ok()) << control.failure().message;
  EXPECT_EQ(control->order.run.rule.least_gain, 0);
  EXPECT_TRUE(std::isinf(control->order.run.rule.horizon_s));
  EXPECT_EQ(control->order.run.speed_error, 0.1);
}

TEST(SimulateSwarmCommand, RefusesWhatMakesNoSense) {
  EXPECT_THAT(refusal({"--hysteresis", "on"}), HasSubstr("expected off"));
  EXPECT_THAT(refusal({"--hysteresis", "off", "--least-gain", "0.05"}), HasSubstr("leave --least-gain away"));
  EXPECT_THAT(refusal({"--move-cost", "0"}), HasSubstr("expected ignored"));
  EXPECT_THAT(refusal({"--rebalance", "none,soon"}), HasSubstr("none or seconds"));
  EXPECT_THAT(refusal({"--rebalance", "0"}), HasSubstr("none or seconds"));
  EXPECT_THAT(refusal({"--nodes", "3", "--stages", "4"}), HasSubstr("more of them than machines"));
  EXPECT_THAT(refusal({"--speeds", "1,-1"}), HasSubstr("--speeds"));
  EXPECT_THAT(refusal({"--links", "5"}), HasSubstr("--links"));
  EXPECT_THAT(refusal({"--newcomers", "luck"}), HasSubstr("count or gain"));
  EXPECT_THAT(refusal({"--trace", "none", "--nodes", "4"}), HasSubstr("drawn traces"));
}

TEST(SimulateSwarmCommand, ReadsATrace) {
  const Scratch scratch;
  const auto file = scratch.file("trace", "0 join a 1 100 100\n0 join b 1 100 100\n3600 leave a\n").string();
  const auto options = read({"--trace", file});
  ASSERT_TRUE(options.ok()) << options.failure().message;
  EXPECT_EQ(options->order.trace->machines.size(), 2U);
  const auto broken = read({"--trace", scratch.file("broken", "0 join a\n").string()});
  EXPECT_EQ(broken.failure().error, Error::kInvalidData);
  EXPECT_THAT(broken.failure().message, HasSubstr("line 1"));
}

}  // namespace
}  // namespace shoal::simulate_swarm_test
