// One worker is killed in mid-step and the run does not notice: same end, same bits (design.md, "Kill anything").
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>

#include "tests/support/process_scene.h"

namespace shoal {
namespace {

constexpr int kSteps = 150;
constexpr std::size_t kKilledAfter = 5;

SmallRun run_to_disturb() { return {2, 2, kSteps, {"sync.reduction=exact"}}; }

// The worker of the node of that name; absent while it is not there.
std::optional<ProcessEntry> worker_of(const ProcessScene& scene, const std::string& node) {
  const auto workers = named_like(named_like(scene.processes(), "shoal-worker node"), "--name " + node + " ");
  return workers.size() == 1 ? std::optional(workers.front()) : std::nullopt;
}

bool says_that_a_node_was_lost(const RunRecords& records, const std::string& node) {
  return std::ranges::any_of(records.events, [&](const EventLine& line) {
    return line.text.find(node) != std::string::npos && line.event != "joined" && !line.reason.empty();
  });
}

class Kill : public testing::TestWithParam<const char*> {};

TEST_P(Kill, OfAWorkerInMidStepLeavesTheBitsAsTheyAre) {
  ProcessScene scene;
  ASSERT_EQ(scene.run_to_end(train(scene, "single", run_to_disturb(), {"--single"})), 0);
  Program& program = scene.start(train(scene, "run", run_to_disturb()));
  ASSERT_TRUE(wait_until([&] { return worker_of(scene, GetParam()).has_value(); }, kRunLimit));
  const ProcessEntry victim = *worker_of(scene, GetParam());
  ASSERT_TRUE(scene.wait_for_steps(kKilledAfter));
  ASSERT_TRUE(scene.kill_before(kSteps - 10, victim.pid));
  ASSERT_EQ(program.wait(kRunLimit), 0);
  const auto records = scene.records();
  EXPECT_EQ(records.steps.size(), static_cast<std::size_t>(kSteps));
  EXPECT_EQ(records.weights(), scene.records("single").weights());
  EXPECT_TRUE(says_that_a_node_was_lost(records, GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Nodes, Kill, testing::Values("node1", "node2", "node3", "node4"),
                         [](const auto& tested) { return std::string(tested.param); });

// It would be silent until long after the end of this test.
TEST(Kill, ASyncGroupAndADataLoaderThatDoNotAnswerAreReplacedAndTheBitsAreAsTheyAre) {
  ProcessScene scene;
  ASSERT_EQ(scene.run_to_end(train(scene, "single", run_to_disturb(), {"--single"})), 0);
  Program& program = scene.start(train(scene, "run", run_to_disturb()));
  std::size_t steps = kKilledAfter;
  for (const std::string target : {"sync_group/1", "data_loader"}) {
    ASSERT_TRUE(scene.wait_for_steps(steps));
    ASSERT_EQ(scene.run_to_end({"kill", target, "--how", "freeze=600", "--run", scene.run().string()}), 0);
    steps = scene.records().steps.size() + 10;
  }
  ASSERT_TRUE(scene.wait_for_steps(steps)) << "the run was over before the faults";
  ASSERT_EQ(program.wait(kRunLimit), 0);
  const auto records = scene.records();
  EXPECT_EQ(records.weights(), scene.records("single").weights());
  const auto is_replaced = [](const EventLine& line) {
    return line.event == "restarted" && line.reason.starts_with("no answer for");
  };
  EXPECT_EQ(std::ranges::count_if(records.events, is_replaced), 2);
  EXPECT_EQ(std::ranges::count(records.events, "process_lost", &EventLine::event), 0);
}

// Its own process is deaf then, and all others are well: it is the one that starts again.
TEST(Kill, ARouterOfTheSpawnerThatDoesNotAnswerMakesNobodyElseGuilty) {
  ProcessScene scene;
  ASSERT_EQ(scene.run_to_end(train(scene, "single", run_to_disturb(), {"--single"})), 0);
  Program& program = scene.start(train(scene, "run", run_to_disturb()));
  ASSERT_TRUE(scene.wait_for_steps(kKilledAfter));
  ASSERT_EQ(scene.run_to_end({"kill", "router/spawner", "--how", "freeze=600", "--run", scene.run().string()}), 0);
  ASSERT_EQ(program.wait(kRunLimit), 0);
  const auto records = scene.records();
  EXPECT_EQ(records.weights(), scene.records("single").weights());
  EXPECT_EQ(std::ranges::count(records.events, "resumed", &EventLine::event), 1);
  const auto is_told = [](const EventLine& line) {
    return line.event == "escalated" && line.subject == "router/spawner" && line.reason.starts_with("no answer for");
  };
  EXPECT_EQ(std::ranges::count_if(records.events, is_told), 1);
  for (const char* event : {"process_lost", "rolled_back"}) {
    EXPECT_EQ(std::ranges::count(records.events, event, &EventLine::event), 0) << event;
  }
}

// As if a kernel never came back: the others have long finished the step.
TEST(Kill, AStageThatHangsIsFoundByHowLongItWorkedBefore) {
  const SmallRun run{2, 2, 4 * kSteps, {"sync.reduction=exact", "swarm.dead_after_ms=3000", "swarm.heartbeat_ms=100"}};
  ProcessScene scene;
  ASSERT_EQ(scene.run_to_end(train(scene, "single", run, {"--single"})), 0);
  Program& program = scene.start(train(scene, "run", run));
  ASSERT_TRUE(scene.wait_for_steps(2 * kSteps));
  ASSERT_EQ(scene.run_to_end({"kill", "stage/0/0", "--how", "freeze=600", "--run", scene.run().string()}), 0);
  ASSERT_EQ(program.wait(kRunLimit), 0);
  const auto records = scene.records();
  EXPECT_EQ(records.weights(), scene.records("single").weights());
  const auto is_found = [](const EventLine& line) {
    return line.event == "stage_ended" && line.reason.find("it hangs") != std::string::npos;
  };
  EXPECT_EQ(std::ranges::count_if(records.events, is_found), 1);
}

// The worker comes back when the run ends, or after it: that is no failure of the run.
TEST(Kill, InTheLastStepsDoesNotChangeTheEnd) {
  ProcessScene scene;
  Program& program = scene.start(train(scene, "run", run_to_disturb()));
  ASSERT_TRUE(wait_until([&] { return worker_of(scene, "node1").has_value(); }, kRunLimit));
  const ProcessEntry victim = *worker_of(scene, "node1");
  ASSERT_TRUE(scene.wait_for_steps(kSteps - 25));
  ASSERT_TRUE(scene.kill_before(kSteps, victim.pid));
  EXPECT_EQ(program.wait(kRunLimit), 0);
  const auto records = scene.records();
  ASSERT_EQ(records.finals.size(), 1U);
  EXPECT_EQ(records.finals[0].steps, static_cast<std::uint64_t>(kSteps));
  EXPECT_EQ(records.finals[0].text, records.last_line);
}

}  // namespace
}  // namespace shoal
