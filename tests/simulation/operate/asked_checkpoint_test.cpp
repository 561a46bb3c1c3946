// A person asks for checkpoints while things fail: nothing is harmed, and what was asked for is saved.
#include <gmock/gmock.h>

#include <algorithm>

#include "tests/simulation/seeds.h"

namespace shoal::asked_checkpoint_test {
namespace {

constexpr std::uint64_t kSeeds = 40;
constexpr std::uint64_t kSalt = 27;

// Complete: a shard of every stage.
[[nodiscard]] std::size_t complete_checkpoints(const SimulatedSwarm& swarm) {
  std::map<std::uint64_t, std::uint32_t> shards;
  for (const auto& [at, weights] : swarm.record().saved) ++shards[at.first];
  return static_cast<std::size_t>(
      std::ranges::count_if(shards, [&](const auto& one) { return one.second == swarm.shape().stages; }));
}

TEST(AskedCheckpoint, IsTheStateAfterTheStepInProgress) {
  const SwarmShape shape = shape_of(2, 2);
  for_each_seed(kSeeds, [&](std::uint64_t seed) {
    SimulatedSwarm swarm(shape, seed);
    while (view_of(swarm).committed_steps() < 3) ASSERT_TRUE(swarm.run_one());
    swarm.ask_for_checkpoint();
    swarm.run();
    EXPECT_EQ(violations(swarm), "");
    EXPECT_EQ(complete_checkpoints(swarm), 2U) << "that one and the last; without it the last alone";
    EXPECT_EQ(swarm.record().saved.begin()->first.first, 4U) << describe_run(swarm);
  });
}

// The control: nobody asks, and nothing is saved before the end.
TEST(AskedCheckpoint, IsNoneWhereNobodyAsks) {
  for_each_seed(kSeeds / 10, [](std::uint64_t seed) {
    SimulatedSwarm swarm(shape_of(2, 2), seed);
    swarm.run();
    EXPECT_EQ(violations(swarm), "");
    EXPECT_EQ(complete_checkpoints(swarm), 1U);
  });
}

// Weights, samples and the end are judged by the whole verdict: they are those of a run that was never asked.
TEST(AskedCheckpoint, AtAnyMomentBesideAnyDeathHarmsNothing) {
  const SwarmShape shape = shape_of(2, 2);
  const std::uint64_t messages = messages_of_undisturbed(shape);
  for_each_seed(kSeeds, [&](std::uint64_t seed) {
    Chance chance(seed, kSalt);
    SimulatedSwarm swarm(shape, seed);
    std::uint64_t at = 0;
    for (int turn = 0; turn < 3; ++turn) {
      at += chance.below(messages / 3);
      if (!run_to_message(swarm, at)) break;
      swarm.ask_for_checkpoint();
      if (turn == 0) kill_a_node(swarm, chance);
      if (turn == 1 && swarm.is_alive("storage")) swarm.kill("storage");
      if (turn == 2) swarm.kill("spawner");
    }
    swarm.run();
    EXPECT_EQ(violations(swarm), "") << "the last fault was at message " << at;
  });
}

// All go back to the newest checkpoint: what was asked for before is saved on the new branch.
TEST(AskedCheckpoint, OutlivesARollBack) {
  for_each_seed(kSeeds, [](std::uint64_t seed) {
    SimulatedSwarm swarm(shape_of(2, 1), seed);
    while (view_of(swarm).committed_steps() < 3) ASSERT_TRUE(swarm.run_one());
    swarm.ask_for_checkpoint();
    swarm.kill(nodes_of(swarm).front());
    swarm.run();
    EXPECT_EQ(violations(swarm), "");
    EXPECT_GE(complete_checkpoints(swarm), 2U) << describe_run(swarm);
  });
}

TEST(AskedCheckpoint, InARunOfRoundsHarmsNothing) {
  for_each_seed(kSeeds, [](std::uint64_t seed) {
    Chance chance(seed, kSalt);
    SimulatedSwarm swarm(shape_with_rounds(chance, 2), seed);
    for (const std::uint64_t step : {std::uint64_t{2}, 4 + chance.below(6)}) {
      while (view_of(swarm).committed_steps() < step) ASSERT_TRUE(swarm.run_one());
      swarm.ask_for_checkpoint();
    }
    swarm.run();
    EXPECT_EQ(violations(swarm), "");
    // A piece that a router had no room for is asked for again; the run may be over before.
    const bool has_room = swarm.knobs().find("links.bytes_for_absent_peers") == std::string::npos;
    EXPECT_GE(complete_checkpoints(swarm), has_room ? 3U : 2U) << describe_run(swarm);
  });
}

}  // namespace
}  // namespace shoal::asked_checkpoint_test
