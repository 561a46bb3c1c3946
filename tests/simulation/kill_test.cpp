// Anything may be killed at any message: the run goes on by itself, and its weights are those of an undisturbed one.
#include <gmock/gmock.h>

#include "tests/simulation/seeds.h"

namespace shoal {
namespace {

constexpr std::uint64_t kSeeds = 120;

constexpr std::uint64_t kSalt = 1;

using Fault = std::function<void(SimulatedSwarm&, Chance&)>;

// When its saver or the disk is lost after the last commit, the last checkpoint is.
void expect_right(const SimulatedSwarm& swarm, std::uint64_t fault_at) {
  EXPECT_EQ(violations_but_for_the_end(swarm), "") << "the fault was at message " << fault_at;
}

// One fault at one message of the whole run, drawn anew for each seed.
void expect_unharmed(SwarmShape shape, std::uint64_t seeds, const Fault& fault) {
  const std::uint64_t messages = messages_of_undisturbed(shape);
  std::uint64_t resumable = 0;
  const std::uint64_t runs = for_each_seed(seeds, [&](std::uint64_t seed) {
    Chance chance(seed, kSalt);
    SimulatedSwarm swarm(shape, seed);
    const std::uint64_t at = chance.below(messages);
    if (run_to_message(swarm, at)) fault(swarm, chance);
    swarm.run();
    expect_right(swarm, at);
    resumable += lost_its_last_checkpoint(swarm) ? 1 : 0;
  });
  EXPECT_LE(resumable, 2 + runs / 4) << "that is for faults at the very end alone";
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

// Its place is taken, and it wakes up beside its successor, or not before the end.
TEST(Frozen, ADataLoaderOrASyncGroup) {
  expect_unharmed(shape_of(2, 2), kSeeds / 2, [](SimulatedSwarm& swarm, Chance& chance) {
    const char* const kChildren[] = {"data_loader", "sync_group/0", "sync_group/1"};
    const Duration time = std::chrono::milliseconds(1 + chance.below(3000));
    (void)swarm.freeze_child(kChildren[chance.below(3)], chance.below(4) == 0 ? std::chrono::hours(1) : time);
  });
}

// Every commit is right without a disk; when the disk is still gone at the last one, that checkpoint is lost.
TEST(Killed, Storage) {
  const SwarmShape shape = shape_of(2, 2);
  const std::uint64_t messages = messages_of_undisturbed(shape);
  for_each_seed(kSeeds / 10, [&](std::uint64_t seed) {
    Chance chance(seed, kSalt);
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
    Chance chance(seed, kSalt);
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
    Chance chance(seed, kSalt);
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
