// A journal that is cut again and again, by spawners that may die at any moment and at any write of it: whoever starts
// or comes back goes on from a snapshot and a few entries, and the weights are those of an undisturbed run.
#include <gtest/gtest.h>

#include "runtime/base/compose.h"
#include "tests/simulation/faults.h"

namespace shoal::snapshot_test {
namespace {

constexpr std::uint64_t kSeeds = 80;
constexpr std::uint64_t kSalt = 29;
constexpr std::uint64_t kEnough = 20;  // seeds: of fewer, most may draw journals that a short run does not fill

[[nodiscard]] SwarmShape cut_often(SwarmShape shape, Chance& chance) {
  shape.snapshot_every = 4 + chance.below(5);
  return shape;
}

TEST(Snapshots, TakenAllTheTimeHarmNothingUnderAnyFault) {
  std::uint64_t cuts = 0;
  const std::uint64_t seeds = for_each_seed(kSeeds, [&](std::uint64_t seed) {
    Chance chance(seed, kSalt);
    const auto stages = 1 + static_cast<std::uint32_t>(chance.below(2));
    const auto replicas = 2 + static_cast<std::uint32_t>(chance.below(2));
    WatchedSwarm watched(cut_often(shape_of(stages, replicas, 3), chance), seed);
    expect_harmless(watched, chance);
    cuts += watched.swarm.cuts();
  });
  if (seeds >= kEnough) {
    EXPECT_GT(cuts, seeds) << "journals that are kept whole";
  }
}

TEST(Snapshots, OfWhichTheSpawnerDiesStandForTheirEntriesOrDoNot) {
  std::uint64_t cuts = 0;
  const std::uint64_t seeds = for_each_seed(kSeeds, [&](std::uint64_t seed) {
    Chance chance(seed, kSalt + 1);
    SimulatedSwarm swarm(cut_often(shape_of(2, 2, 3), chance), seed);
    for (int death = 0; death < 3; ++death) {
      swarm.kill_at_write(1 + chance.below(12), chance.below(2) == 0 ? WriteFate::kLost : WriteFate::kDurable);
      for (int message = 0; message < 400 && swarm.run_one(); ++message) {
      }
    }
    swarm.run();
    EXPECT_EQ(violations(swarm), "");
    cuts += swarm.cuts();
  });
  if (seeds >= kEnough) {
    EXPECT_GT(cuts, seeds);
  }
}

// Rounds, and samples that are trained again: losses are known from entries, counts from snapshots.
TEST(Snapshots, OfRoundsAndOfSamplesThatAreTrainedAgainForgetNothing) {
  for_each_seed(kSeeds, [](std::uint64_t seed) {
    Chance chance(seed, kSalt + 2);
    SwarmShape shape = cut_often(shape_with_rounds(chance, 2), chance);
    shape.sync.requeue_lost = chance.below(2) == 0;
    SimulatedSwarm swarm(shape, seed);
    for (const char* victim : {"spawner", "node", "spawner"}) {
      if (!run_to_message(swarm, swarm.clockwork().messages() + 200 + chance.below(1500))) break;
      if (victim != std::string("spawner")) kill_a_node(swarm, chance);
      if (victim == std::string("spawner") && swarm.is_alive("spawner")) swarm.kill("spawner");
    }
    swarm.run();
    EXPECT_EQ(violations(swarm), "");
  });
}

}  // namespace
}  // namespace shoal::snapshot_test
