// Anything may be killed at any message: the run goes on by itself, and its weights are those of an undisturbed one.
#include <algorithm>

#include <gmock/gmock.h>

#include "tests/simulation/seeds.h"

namespace shoal {
namespace {

constexpr std::uint64_t kSeeds = 200;

// The test's own choices; the swarm's are drawn inside it from the same seed.
struct Chance {
  std::mt19937_64 random;
  explicit Chance(std::uint64_t seed) : random(seed * 0x9E3779B97F4A7C15ULL + 1) {}
  [[nodiscard]] std::uint64_t below(std::uint64_t bound) { return random() % bound; }
};

[[nodiscard]] std::vector<std::string> nodes_of(const SimulatedSwarm& swarm) {
  auto names = swarm.processes();
  std::erase(names, "storage");
  return names;
}

using Fault = std::function<void(SimulatedSwarm&, Chance&)>;

// When its saver or the disk is lost after the last commit, the last checkpoint is: the run ends with status 3, to be
// resumed from the one before.
[[nodiscard]] bool lost_its_last_checkpoint(const SimulatedSwarm& swarm) {
  const auto& end = swarm.record().end;
  const auto is_commit = [](const JournalEntry& entry) { return std::holds_alternative<Commit>(entry.body); };
  const auto entries = swarm.journal();
  const auto commits = std::count_if(entries.begin(), entries.end(), is_commit);
  return end && end->exit_status == 3 && static_cast<std::uint64_t>(commits) == swarm.shape().steps;
}

void expect_right(const SimulatedSwarm& swarm, std::uint64_t fault_at) {
  const std::string trace = "the fault was at message " + std::to_string(fault_at);
  if (!lost_its_last_checkpoint(swarm)) {
    EXPECT_EQ(violations(swarm), "") << trace;
    return;
  }
  EXPECT_THAT(journal_violations(swarm), testing::IsEmpty()) << trace;
  EXPECT_THAT(weight_violations(swarm), testing::IsEmpty()) << trace;
}

// One fault at one message of the whole run, drawn anew for each seed.
void expect_unharmed(SwarmShape shape, std::uint64_t seeds, const Fault& fault) {
  const std::uint64_t messages = messages_of_undisturbed(shape);
  int resumable = 0;
  for_each_seed(seeds, [&](std::uint64_t seed) {
    Chance chance(seed);
    SimulatedSwarm swarm(shape, seed);
    const std::uint64_t at = chance.below(messages);
    if (run_to_message(swarm, at)) fault(swarm, chance);
    swarm.run();
    expect_right(swarm, at);
    resumable += lost_its_last_checkpoint(swarm) ? 1 : 0;
  });
  EXPECT_LE(resumable, static_cast<int>(seeds / 4)) << "that is for faults at the very end alone";
}

void kill_a_node(SimulatedSwarm& swarm, Chance& chance) {
  const auto nodes = nodes_of(swarm);
  if (!nodes.empty()) swarm.kill(nodes[chance.below(nodes.size())]);
}

[[nodiscard]] SwarmShape shape_of(std::uint32_t stages, std::uint32_t replicas) {
  SwarmShape shape;
  shape.stages = stages;
  shape.replicas = replicas;
  return shape;
}

TEST(Killed, ANodeOfTwoByTwo) { expect_unharmed(shape_of(2, 2), kSeeds, kill_a_node); }

TEST(Killed, ANodeOfTwoByThree) { expect_unharmed(shape_of(2, 3), kSeeds, kill_a_node); }

TEST(Killed, ANodeOfThreeByTwo) { expect_unharmed(shape_of(3, 2), kSeeds / 4, kill_a_node); }

TEST(Killed, AStageActorAlone) {
  expect_unharmed(shape_of(2, 2), kSeeds / 2, [](SimulatedSwarm& swarm, Chance& chance) {
    const auto nodes = nodes_of(swarm);
    if (!nodes.empty()) (void)swarm.kill_stage(nodes[chance.below(nodes.size())]);
  });
}

TEST(Killed, TheDataLoader) {
  expect_unharmed(shape_of(2, 2), kSeeds / 2,
                  [](SimulatedSwarm& swarm, Chance&) { (void)swarm.kill_child("data_loader"); });
}

TEST(Killed, ASyncGroup) {
  expect_unharmed(shape_of(2, 2), kSeeds / 2, [](SimulatedSwarm& swarm, Chance& chance) {
    (void)swarm.kill_child("sync_group/" + std::to_string(chance.below(2)));
  });
}

// Every commit is right without a disk; when the disk is still gone at the last one, that checkpoint is lost.
TEST(Killed, Storage) {
  const SwarmShape shape = shape_of(2, 2);
  const std::uint64_t messages = messages_of_undisturbed(shape);
  for_each_seed(kSeeds / 10, [&](std::uint64_t seed) {
    Chance chance(seed);
    SimulatedSwarm swarm(shape, seed);
    const std::uint64_t at = chance.below(messages);
    if (run_to_message(swarm, at) && swarm.is_alive("storage")) swarm.kill("storage");
    swarm.run();
    expect_right(swarm, at);
  });
}

// A stage without a second replica: all go back together; only a last checkpoint may be lost.
TEST(Killed, TheOnlyReplicaOfAStage) {
  const SwarmShape shape = shape_of(2, 1);
  const std::uint64_t messages = messages_of_undisturbed(shape);
  for_each_seed(kSeeds / 2, [&](std::uint64_t seed) {
    Chance chance(seed);
    SimulatedSwarm swarm(shape, seed);
    if (run_to_message(swarm, chance.below(messages))) kill_a_node(swarm, chance);
    swarm.run();
    ASSERT_TRUE(swarm.record().end) << describe_run(swarm);
    EXPECT_THAT(swarm.record().end->exit_status, testing::AnyOf(0, 3)) << describe_run(swarm);
    EXPECT_THAT(journal_violations(swarm), testing::IsEmpty()) << describe_run(swarm);
    EXPECT_THAT(weight_violations(swarm), testing::IsEmpty()) << describe_run(swarm);
  });
}

TEST(Cut, TheLinksOfANode) {
  expect_unharmed(shape_of(2, 2), kSeeds / 2, [](SimulatedSwarm& swarm, Chance& chance) {
    const auto nodes = nodes_of(swarm);
    if (!nodes.empty()) swarm.cut(nodes[chance.below(nodes.size())]);
  });
}

TEST(Killed, OneOfEachOneAfterTheOther) {
  const SwarmShape shape = shape_of(2, 3);
  const std::uint64_t messages = messages_of_undisturbed(shape);
  for_each_seed(kSeeds / 2, [&](std::uint64_t seed) {
    Chance chance(seed);
    SimulatedSwarm swarm(shape, seed);
    std::uint64_t at = 0;
    for (int fault = 0; fault < 3; ++fault) {
      at += chance.below(messages / 3);
      if (!run_to_message(swarm, at)) break;
      if (fault == 0) (void)swarm.kill_child("sync_group/" + std::to_string(chance.below(2)));
      if (fault == 1) kill_a_node(swarm, chance);
      if (fault == 2) (void)swarm.kill_child("data_loader");
    }
    swarm.run();
    expect_right(swarm, at);
  });
}

}  // namespace
}  // namespace shoal
