// Machines that come, go and die while a run trains (tests/bench/storms, in seconds): the weights are those of one
// process, nobody goes back to a checkpoint, and whoever leaves politely takes no work along.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/bench/storms/storm_run.h"
#include "tests/emulator/emulator.h"

namespace shoal::storm_test {
namespace {

constexpr int kPaceMs = 12;
constexpr const char* kSlowLink = "shape node3 <-> * bytes_per_s=100000";
constexpr Milliseconds kSoon{60'000};

StormSetup setup_of(int nodes, const std::vector<std::string>& more) {
  StormSetup setup;
  setup.run = {
      2, 1, kEndless, {"sync.reduction=exact", "trace.level=all", "batch.microbatch=1", "checkpoint.every=20"}};
  setup.run.sets.insert(setup.run.sets.end(), more.begin(), more.end());
  setup.nodes = nodes;
  setup.pace_ms = kPaceMs;
  return setup;
}

// Waits for the run to tell that event about that node, or about anybody.
bool tells(StormRun& run, const std::string& event, const std::string& about) {
  const auto is_told = [&] {
    return std::ranges::any_of(run.watcher().seen(), [&](const Seen& line) {
      return !line.is_step && contains(line.text, "\"" + event + "\"") && contains(line.text, about);
    });
  };
  return run.watcher().wait(is_told, kSoon);
}

TEST(Storm, NodesJoinAndLeaveAndTheBitsStay) {
  StormRun run(setup_of(2, {"pipeline.replicas_max=2", "swarm.rebalance_every_s=1", "swarm.dead_after_ms=30000"}));
  ASSERT_TRUE(run.begin(2));
  for (int joiner = 0; joiner < 2; ++joiner) {
    const std::string name = run.join().name;
    ASSERT_TRUE(tells(run, "replica_added", name));
    ASSERT_TRUE(run.watcher().wait_for_steps(1));
  }
  run.drain("node1");
  run.terminate("node2");
  ASSERT_TRUE(tells(run, "left", "node1"));
  ASSERT_TRUE(tells(run, "left", "node2"));
  ASSERT_TRUE(run.watcher().wait_for_steps(2));
  const StormEnd end = run.end();
  EXPECT_TRUE(end.is_in_order) << end.complaint;
  EXPECT_GE(end.events.at("replica_added"), 2) << "and one for each move";
  SmallRun other{2, 1, kEndless, {"sync.reduction=exact", "batch.microbatch=1", "run.seed=8"}};
  const auto words = train(run.scene(), "other", other, {"--single", "--steps", std::to_string(end.steps)});
  ASSERT_EQ(run.scene().run_to_end(words), 0);
  EXPECT_NE(run.scene().records("other").weights(), end.weights) << "the control: other bits are seen";
}

// Each stage loses two of its four replicas: which node serves which stage hangs on the order of joins.
TEST(Storm, HalfOfTheWorkersAndTheSpawnerAreKilledAndTheBitsStay) {
  StormRun run(setup_of(8, {"pipeline.replicas=4"}));
  ASSERT_TRUE(run.begin(2));
  const std::vector<std::string> victims = run.serving({{0, 0}, {1, 1}, {0, 2}, {1, 3}});
  ASSERT_EQ(victims.size(), 4U);
  for (const std::string& victim : {victims[0], victims[1], victims[2]}) {
    EXPECT_TRUE(run.kill_node(victim));
    ASSERT_TRUE(run.watcher().wait_for_steps(1));
  }
  EXPECT_TRUE(run.kill_spawner());
  EXPECT_TRUE(run.kill_node(victims[3]));
  ASSERT_TRUE(run.watcher().wait_for_steps(3));
  const StormEnd end = run.end();
  EXPECT_TRUE(end.is_in_order) << end.complaint;
}

// Its state comes over a link that would need seconds for the sum of a step that takes a fraction of one.
TEST(Storm, AJoinerThatCannotFollowSaysSoAndStaysASpare) {
  LinkEmulator network(1);
  StormSetup setup = setup_of(2, {"pipeline.replicas_max=2", "model.width=128"});
  setup.environment = network.environment();
  StormRun run(std::move(setup));
  ASSERT_TRUE(run.begin(2));
  ASSERT_TRUE(network.command(kSlowLink).ok());
  run.join();
  ASSERT_TRUE(tells(run, "join_given_up", "cannot follow"));
  Program& status = run.scene().start({"status", "--run", run.scene().run().string()});
  ASSERT_EQ(status.wait(kSoon), 0);
  EXPECT_TRUE(contains(status.out(), "node3 stays a spare")) << status.out();
  ASSERT_TRUE(network.command("heal node3 <-> *").ok());
  const StormEnd end = run.end();
  EXPECT_TRUE(end.is_in_order) << end.complaint;
  EXPECT_FALSE(end.events.contains("commit_held")) << "nobody waited for it";
  EXPECT_FALSE(end.events.contains("replica_added"));
}

}  // namespace
}  // namespace shoal::storm_test
