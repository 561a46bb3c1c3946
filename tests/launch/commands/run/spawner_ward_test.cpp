// The options that the spawner process gets when it is started, and when its keeper starts it again.
#include "launch/commands/run/spawner_ward.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace shoal::spawner_ward_test {
namespace {

bool has(const ChildProgram& program, const std::string& option) {
  return std::ranges::find(program.arguments, option) != program.arguments.end();
}

KeepSpawnerOptions bounded(bool is_restarted) {
  KeepSpawnerOptions options;
  options.run_directory = "runs/x";
  options.is_restarted = is_restarted;
  options.wait_timeout_s = 60;
  options.stop_at_step = 5;
  return options;
}

// A person who goes on with a run waits for it to begin like one who starts a run.
TEST(SpawnerWard, AWaitForNodesIsBoundedAtTheStartOfAPersonAlone) {
  for (const bool is_restarted : {false, true}) {
    const Ward ward = spawner_ward(bounded(is_restarted));
    EXPECT_TRUE(has(ward.program, "--wait-timeout")) << "resumed: " << is_restarted;
    EXPECT_EQ(has(ward.program, "--restarted"), is_restarted);
    ASSERT_TRUE(ward.again);
    EXPECT_TRUE(has(*ward.again, "--restarted"));
    EXPECT_FALSE(has(*ward.again, "--wait-timeout")) << "resumed: " << is_restarted;
    EXPECT_TRUE(has(*ward.again, "--steps")) << "the control";
  }
}

TEST(SpawnerWard, BoundsNoWaitUnlessItIsTold) {
  KeepSpawnerOptions options = bounded(false);
  options.wait_timeout_s.reset();
  EXPECT_FALSE(has(spawner_ward(options).program, "--wait-timeout"));
}

// A person's start takes the kernels that it finds; one by the keeper keeps those of the run.
TEST(SpawnerWard, OnlyTheStartOfAPersonIsSaidToBeOne) {
  KeepSpawnerOptions options = bounded(true);
  EXPECT_FALSE(has(spawner_ward(options).program, "--resumed"));
  options.is_resumed = true;
  const Ward ward = spawner_ward(options);
  EXPECT_TRUE(has(ward.program, "--resumed"));
  EXPECT_TRUE(has(ward.program, "--restarted")) << "nodes may still be there";
  EXPECT_FALSE(has(*ward.again, "--resumed"));
}

}  // namespace
}  // namespace shoal::spawner_ward_test
