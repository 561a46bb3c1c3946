// One worker is killed in mid-step and the run does not notice: same end, same bits (DESIGN.md, "Kill anything").
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>

#include "tests/support/process_scene.h"

namespace shoal::kill_test {
namespace {

constexpr std::size_t kKilledAfter = 5;

SmallRun run_to_disturb(const std::vector<std::string>& more = {}) {
  SmallRun run{2, 2, kEndless, {"sync.reduction=exact"}};
  run.sets.insert(run.sets.end(), more.begin(), more.end());
  return run;
}

// The run that has gone on for a while has the bits of one process that went as far.
void expect_equal_bits(ProcessScene& scene, Program& program, const SmallRun& run) {
  ASSERT_TRUE(scene.wait_for_steps(scene.records().steps.size() + 10));
  ASSERT_TRUE(scene.stop_and_repeat_single(program, run));
  EXPECT_EQ(scene.records().steps.size(), scene.records("single").steps.size());
  EXPECT_EQ(scene.records().weights(), scene.records("single").weights());
}

std::ptrdiff_t count_of(const ProcessScene& scene, const std::string& event, const std::string& reason = "") {
  return std::ranges::count_if(scene.records().events, [&](const EventLine& line) {
    return line.event == event && line.reason.find(reason) != std::string::npos;
  });
}

bool says_that_a_node_was_lost(const RunRecords& records, const std::string& node) {
  return std::ranges::any_of(records.events, [&](const EventLine& line) {
    return line.text.find(node) != std::string::npos && line.event != "joined" && !line.reason.empty();
  });
}

void kill_in_mid_step(const std::string& node, const SmallRun& run) {
  ProcessScene scene;
  Program& program = scene.start(train(scene, "run", run));
  ASSERT_TRUE(wait_until([&] { return scene.worker_of(node).has_value(); }, kRunLimit));
  const ProcessEntry victim = *scene.worker_of(node);
  ASSERT_TRUE(scene.wait_for_steps(kKilledAfter));
  ASSERT_EQ(::kill(victim.pid, SIGKILL), 0);
  EXPECT_TRUE(wait_until([&] { return says_that_a_node_was_lost(scene.records(), node); }, kRunLimit));
  expect_equal_bits(scene, program, run);
}

class Kill : public testing::TestWithParam<const char*> {};

TEST_P(Kill, OfAWorkerInMidStepLeavesTheBitsAsTheyAre) { kill_in_mid_step(GetParam(), run_to_disturb()); }

INSTANTIATE_TEST_SUITE_P(Nodes, Kill, testing::Values("node1", "node2", "node3", "node4"),
                         [](const auto& tested) { return std::string(tested.param); });

TEST(Kill, OfAWorkerThatTrainsALlamaLeavesTheBitsAsTheyAre) {
  kill_in_mid_step("node2", run_to_disturb({"model.kind=llama", "model.kv_heads=1", "model.qk_norm=true"}));
}

// A frozen actor would be silent until long after the end of this test.
TEST(Kill, ASyncGroupAndADataLoaderThatDoNotAnswerAreReplacedAndTheBitsAreAsTheyAre) {
  ProcessScene scene;
  Program& program = scene.start(train(scene, "run", run_to_disturb()));
  ASSERT_TRUE(scene.wait_for_steps(kKilledAfter));
  for (const std::string target : {"sync_group/1", "data_loader"}) {
    ASSERT_EQ(scene.run_to_end({"kill", target, "--how", "freeze=600", "--run", scene.run().string()}), 0);
    const auto is_replaced = [&](const EventLine& line) {
      return line.event == "restarted" && line.subject == target && line.reason.starts_with("no answer for");
    };
    ASSERT_TRUE(wait_until([&] { return std::ranges::any_of(scene.records().events, is_replaced); }, kRunLimit));
    ASSERT_TRUE(scene.wait_for_steps(scene.records().steps.size() + 10));
  }
  expect_equal_bits(scene, program, run_to_disturb());
  EXPECT_EQ(count_of(scene, "process_lost"), 0);
}

// The deaf router's own process is at fault, and all others are well: that process starts again.
TEST(Kill, ARouterOfTheSpawnerThatDoesNotAnswerMakesNobodyElseGuilty) {
  ProcessScene scene;
  Program& program = scene.start(train(scene, "run", run_to_disturb()));
  ASSERT_TRUE(scene.wait_for_steps(kKilledAfter));
  ASSERT_EQ(scene.run_to_end({"kill", "router/spawner", "--how", "freeze=600", "--run", scene.run().string()}), 0);
  ASSERT_TRUE(wait_until([&] { return count_of(scene, "resumed") == 1; }, kRunLimit));
  expect_equal_bits(scene, program, run_to_disturb());
  const auto records = scene.records();
  EXPECT_EQ(count_of(scene, "resumed"), 1);
  const auto is_told = [](const EventLine& line) {
    return line.event == "escalated" && line.subject == "router/spawner" && line.reason.starts_with("no answer for");
  };
  EXPECT_EQ(std::ranges::count_if(records.events, is_told), 1);
  for (const char* event : {"process_lost", "rolled_back"}) {
    EXPECT_EQ(count_of(scene, event), 0) << event;
  }
}

// The stage hangs as if a kernel never came back: the others have long finished the step. The patience with it is a
// multiple of the longest piece of work that it saw, which is long where the machine itself stood still.
TEST(Kill, AStageThatHangsIsFoundByHowLongItWorkedBefore) {
  const SmallRun run = run_to_disturb({"swarm.dead_after_ms=3000", "swarm.heartbeat_ms=100"});
  ProcessScene scene;
  Program& program = scene.start(train(scene, "run", run));
  ASSERT_TRUE(scene.wait_for_steps(300));
  ASSERT_EQ(scene.run_to_end({"kill", "stage/0/0", "--how", "freeze=600", "--run", scene.run().string()}), 0);
  ASSERT_TRUE(wait_until([&] { return count_of(scene, "stage_ended", "it hangs") == 1; }, 3 * kRunLimit));
  expect_equal_bits(scene, program, run);
  EXPECT_EQ(count_of(scene, "stage_ended", "it hangs"), 1);
}

// The worker comes back when the run ends, or after it: that is no failure of the run, which is stopped here.
TEST(Kill, InTheLastStepsDoesNotChangeTheEnd) {
  ProcessScene scene;
  Program& program = scene.start(train(scene, "run", run_to_disturb()));
  ASSERT_TRUE(wait_until([&] { return scene.worker_of("node1").has_value(); }, kRunLimit));
  const ProcessEntry victim = *scene.worker_of("node1");
  ASSERT_TRUE(scene.wait_for_steps(kKilledAfter));
  ASSERT_EQ(::kill(victim.pid, SIGKILL), 0);
  scene.stop(program);
  const auto records = scene.records();
  ASSERT_EQ(records.finals.size(), 1U);
  EXPECT_EQ(records.finals[0].steps, records.steps.size());
  EXPECT_EQ(records.finals[0].text, records.last_line);
}

}  // namespace
}  // namespace shoal::kill_test
