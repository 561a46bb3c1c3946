// The keeper of a node is frozen, and not what it keeps: the run goes on, `shoal status` names the keeper, and nothing
// is killed when it wakes. Of a frozen `shoal train` the keepers that it keeps say so.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>

#include "tests/support/process_scene.h"

namespace shoal::keeper_test {
namespace {

pid_t keeper_of(const ProcessScene& scene, const std::string& node) {
  const auto found = named_like(named_like(scene.processes(), "shoal node "), "--name " + node + " ");
  return found.size() == 1 ? found.front().pid : 0;
}

bool status_names(ProcessScene& scene, const std::string& words) {
  Program& status = scene.start({"status", "--run", scene.run().string()});
  return status.wait(kRunLimit) == 0 && status.out().find(words) != std::string::npos;
}

bool says(const ProcessScene& scene, const std::string& node, const std::string& words) {
  return read_all(scene.run() / "logs" / (node + ".log")).find(words) != std::string::npos;
}

TEST(Keeper, ThatIsFrozenIsNamedAndCostsNothing) {
  ProcessScene scene;
  const SmallRun run{1, 2, kEndless, {"sync.reduction=exact", "batch.microbatch=2"}};
  Program& program = scene.start(train(scene, "run", run));
  ASSERT_TRUE(scene.wait_for_steps(5));
  const pid_t keeper = keeper_of(scene, "node1");
  const auto worker = scene.worker_of("node1");
  ASSERT_TRUE(keeper != 0 && worker) << describe(scene.processes());
  EXPECT_FALSE(status_names(scene, "keeper/"));
  ASSERT_EQ(::kill(keeper, SIGSTOP), 0);
  ASSERT_TRUE(wait_until([&] { return says(scene, "node1", "shows no sign of life for 10 s"); }, kRunLimit));
  ASSERT_TRUE(wait_until([&] { return status_names(scene, "keeper/node1"); }, kRunLimit));
  ASSERT_TRUE(scene.wait_for_steps(scene.records().steps.size() + 5));
  EXPECT_EQ(scene.worker_of("node1")->pid, worker->pid);

  ASSERT_EQ(::kill(keeper, SIGCONT), 0);
  ASSERT_TRUE(wait_until([&] { return says(scene, "node1", "lives again"); }, kRunLimit));
  ASSERT_TRUE(wait_until([&] { return !status_names(scene, "keeper/"); }, kRunLimit));
  ASSERT_TRUE(scene.wait_for_steps(scene.records().steps.size() + 5));
  EXPECT_EQ(scene.worker_of("node1")->pid, worker->pid);
  EXPECT_EQ(std::ranges::count(scene.records().events, std::string("process_lost"), &EventLine::event), 0);
  ASSERT_TRUE(scene.stop_and_repeat_single(program, run));
  EXPECT_EQ(scene.records().weights(), scene.records("single").weights());
}

TEST(Keeper, ThatIsFrozenStartsItsWorkerAgainWhenItWakes) {
  ProcessScene scene;
  Program& program = scene.start(train(scene, "run", {1, 2, kEndless, {}}));
  ASSERT_TRUE(scene.wait_for_steps(5));
  const pid_t keeper = keeper_of(scene, "node1");
  const auto worker = scene.worker_of("node1");
  ASSERT_TRUE(keeper != 0 && worker) << describe(scene.processes());
  ASSERT_EQ(::kill(keeper, SIGSTOP), 0);
  ASSERT_EQ(::kill(worker->pid, SIGKILL), 0);
  const auto has_event = [&](const std::string& event) {
    return std::ranges::count(scene.records().events, event, &EventLine::event) > 0;
  };
  ASSERT_TRUE(wait_until([&] { return has_event("process_lost"); }, kRunLimit));
  ASSERT_TRUE(scene.wait_for_steps(scene.records().steps.size() + 5));
  EXPECT_NE(scene.records().steps.back().text.find("\"replicas\":[1]"), std::string::npos);
  EXPECT_FALSE(scene.worker_of("node1"));
  ASSERT_EQ(::kill(keeper, SIGCONT), 0);
  ASSERT_TRUE(wait_until([&] { return scene.worker_of("node1").has_value(); }, kRunLimit));
  const auto is_back = [&] { return scene.records().steps.back().text.find("\"replicas\":[2]") != std::string::npos; };
  ASSERT_TRUE(wait_until(is_back, kRunLimit));
  scene.stop(program);
}

TEST(Keeper, ThatKeepsKeepersIsNamedByThemWhenItIsFrozen) {
  ProcessScene scene;
  Program& program = scene.start(train(scene, "run", {1, 2, kEndless, {}}));
  ASSERT_TRUE(scene.wait_for_steps(5));
  program.signal(SIGSTOP);
  const std::string name = "keeper (process " + std::to_string(program.pid()) + ")";
  ASSERT_TRUE(wait_until([&] { return says(scene, "node1", name + " shows no sign of life for "); }, kRunLimit));
  ASSERT_TRUE(scene.wait_for_steps(scene.records().steps.size() + 5));
  program.signal(SIGCONT);
  ASSERT_TRUE(wait_until([&] { return says(scene, "node1", name + " lives again"); }, kRunLimit));
  scene.stop(program);
}

}  // namespace
}  // namespace shoal::keeper_test
