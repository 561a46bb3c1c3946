// Devices that end their jobs later than messages come, with several under way, and keep what they compute until a
// router has it copied: no microbatch is lost or doubled, whatever fails meanwhile, and the weights are the same.
#include <gtest/gtest.h>

#include "tests/simulation/faults.h"

namespace shoal::late_device_test {
namespace {

constexpr std::uint64_t kSeeds = 40;
constexpr std::uint64_t kSalt = 28;

// Stages, replicas, checkpoint every.
constexpr std::array<std::array<std::uint32_t, 3>, 6> kShapes = {
    {{2, 2, 0}, {2, 2, 3}, {2, 3, 3}, {3, 2, 3}, {1, 2, 2}, {2, 1, 2}}};

[[nodiscard]] SwarmShape late_shape(Chance& chance) {
  const auto& [stages, replicas, checkpoint_every] = kShapes.at(chance.below(kShapes.size()));
  SwarmShape shape = shape_of(stages, replicas, checkpoint_every);
  shape.schedule = chance.below(2) == 0 ? Schedule::k1f1b : Schedule::kAfab;
  shape.has_late_devices = true;
  return shape;
}

TEST(LateDevice, EndsInTheWeightsOfOneProcess) {
  LateCounts all;
  const std::uint64_t seeds = for_each_seed(4, [&all](std::uint64_t seed) {
    Chance chance(seed, kSalt);
    SimulatedSwarm swarm(late_shape(chance), seed);
    swarm.run();
    EXPECT_EQ(violations(swarm), "");
    all.late_ends += swarm.late_counts().late_ends;
    all.copies += swarm.late_counts().copies;
    all.most_under_way = std::max(all.most_under_way, swarm.late_counts().most_under_way);
  });
  EXPECT_GT(all.late_ends, 10 * seeds) << "the control: jobs did end later";
  if (seeds < 4) return;
  EXPECT_GT(all.most_under_way, 1U) << "and several were under way";
  EXPECT_GT(all.copies, 0U) << "and tensors left their processes";
}

TEST(LateDevice, WithFaultsAtAnyMomentHarmsNothing) {
  for_each_seed(kSeeds, [](std::uint64_t seed) {
    Chance chance(seed, kSalt + 1);
    WatchedSwarm watched(late_shape(chance), seed);
    expect_harmless(watched, chance);
  });
}

TEST(LateDevice, WithRoundsAndFaultsHarmsNothing) {
  for_each_seed(kSeeds / 2, [](std::uint64_t seed) {
    Chance chance(seed, kSalt + 2);
    SwarmShape shape = shape_with_rounds(chance, 3);
    shape.has_late_devices = true;
    WatchedSwarm watched(std::move(shape), seed);
    expect_harmless(watched, chance);
  });
}

// The microbatch that the device has come to is to blame, and no other one under way.
TEST(LateDevice, AMicrobatchThatEndsItIsFoundAmongThoseUnderWay) {
  for_each_seed(8, [](std::uint64_t seed) {
    SwarmShape shape = shape_of(2, 2);
    shape.steps = 12;
    shape.has_late_devices = true;
    shape.poison = SwarmPoison{};
    shape.poison->in_backward = seed % 2 == 0;
    shape.poison->stage = StageId{seed % 2 == 0 ? 0U : 1U};
    SimulatedSwarm swarm(shape, seed);
    swarm.run();
    EXPECT_EQ(violations(swarm), "");
    std::vector<Quarantine> found;
    for (const JournalEntry& entry : swarm.journal()) {
      if (const auto* quarantine = std::get_if<Quarantine>(&entry.body)) found.push_back(*quarantine);
    }
    ASSERT_EQ(found.size(), 1U) << describe_run(swarm);
    EXPECT_EQ(found[0].step, shape.poison->step);
    EXPECT_EQ(found[0].microbatch, shape.poison->microbatch);
  });
}

}  // namespace
}  // namespace shoal::late_device_test
