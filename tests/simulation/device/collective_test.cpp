// Sums by a library on the members' devices (P-18b), which fails, hangs, and loses members in the middle of a sum: no
// microbatch is lost or doubled, whatever fails meanwhile, and the weights are those of one process.
#include <gtest/gtest.h>

#include "tests/simulation/faults.h"

namespace shoal::collective_test {
namespace {

constexpr std::uint64_t kSeeds = 40;
constexpr std::uint64_t kSalt = 281;

// Stages, replicas, checkpoint every.
constexpr std::array<std::array<std::uint32_t, 3>, 5> kShapes = {
    {{2, 2, 0}, {2, 3, 3}, {3, 2, 3}, {1, 3, 2}, {2, 1, 2}}};

[[nodiscard]] SwarmShape collective_shape(Chance& chance) {
  const auto& [stages, replicas, checkpoint_every] = kShapes.at(chance.below(kShapes.size()));
  SwarmShape shape = shape_of(stages, replicas, checkpoint_every);
  shape.has_collectives = true;
  shape.has_late_devices = chance.below(2) == 0;
  return shape;
}

void add(CollectiveCounts& all, const CollectiveCounts& more) {
  all.communicators += more.communicators;
  all.sums += more.sums;
  all.broken += more.broken;
  all.silent += more.silent;
}

TEST(Collective, EndsInTheWeightsOfOneProcess) {
  CollectiveCounts all;
  const std::uint64_t seeds = for_each_seed(8, [&all](std::uint64_t seed) {
    Chance chance(seed, kSalt);
    SimulatedSwarm swarm(collective_shape(chance), seed);
    swarm.run();
    EXPECT_EQ(violations(swarm), "");
    add(all, swarm.collective_counts());
  });
  EXPECT_GT(all.sums, 5 * seeds) << "the control: the library did make sums";
  EXPECT_GT(all.sums, 3 * all.communicators) << "and communicators were kept";
}

TEST(Collective, WithFaultsAtAnyMomentHarmsNothing) {
  CollectiveCounts all;
  const std::uint64_t seeds = for_each_seed(kSeeds, [&all](std::uint64_t seed) {
    Chance chance(seed, kSalt + 1);
    WatchedSwarm watched(collective_shape(chance), seed);
    expect_harmless(watched, chance);
    add(all, watched.swarm.collective_counts());
  });
  if (seeds < kSeeds) return;
  EXPECT_GT(all.broken, 0U) << "the control: members left in the middle of a sum";
  EXPECT_GT(all.silent, 0U) << "and sums hung";
}

}  // namespace
}  // namespace shoal::collective_test
