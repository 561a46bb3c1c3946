// Tests the options of `shoal simulate step`.
#include "launch/commands/plan/simulate_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "launch/interface.h"

namespace shoal::simulate_step_test {
namespace {

using testing::HasSubstr;

Result<SimulateStepOptions> read(std::vector<std::string> words) {
  words.insert(words.begin(), {"--speed", "fast=20msx2", "--speed", "slow=60msx2"});
  const auto options = parse_options(command_named("simulate step"), words);
  if (!options) return options.failure();
  return simulate_step_options(*options);
}

TEST(SimulateStepCommand, ALinkOfZeroIsWithoutLimit) {
  constexpr double kAny = std::numeric_limits<double>::infinity();
  const auto options = read({"--link-mbit", "100", "--link-mbit", "slow=0"});
  ASSERT_TRUE(options.ok()) << options.failure().message;
  for (const StepMachine& machine : options->scene.machines)
    EXPECT_EQ(machine.link.bit_s, machine.name.starts_with("slow") ? kAny : 100e6) << machine.name;
  EXPECT_EQ(options->scene.spawner.bit_s, 100e6);
  EXPECT_EQ(read({"--link-mbit", "0"})->scene.spawner.bit_s, kAny);
  EXPECT_THAT(read({"--link-mbit", "-1"}).failure().message, HasSubstr("--link-mbit -1"));
}

TEST(SimulateStepCommand, SaysWhichKeysHaveNoEffect) {
  EXPECT_EQ(read({})->warning, "");
  EXPECT_EQ(read({"--set", "sync.H=20"})->warning, "sync.H has no effect while sync.mode = \"every_step\"");
}

}  // namespace
}  // namespace shoal::simulate_step_test
