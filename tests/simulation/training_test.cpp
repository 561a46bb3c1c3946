// Runs without faults: every shape trains every microbatch exactly once, to the weights of a single process, whatever
// the order of messages; and a seed replays.
#include <gtest/gtest.h>

#include "tests/simulation/seeds.h"

namespace shoal::training_test {
namespace {

constexpr std::uint64_t kSeeds = 5;

class EveryShape : public testing::TestWithParam<std::pair<std::uint32_t, std::uint32_t>> {};

TEST_P(EveryShape, TrainsEachMicrobatchOnceToTheWeightsOfOneProcess) {
  for_each_seed(kSeeds, [](std::uint64_t seed) {
    SwarmShape shape;
    shape.stages = GetParam().first;
    shape.replicas = GetParam().second;
    shape.schedule = seed % 2 == 0 ? Schedule::kAfab : Schedule::k1f1b;
    SimulatedSwarm swarm(shape, seed);
    swarm.run();
    EXPECT_EQ(violations(swarm), "");
    EXPECT_EQ(swarm.record().reports.size(), shape.steps * shape.stages * shape.replicas) << "seed " << seed;
  });
}

INSTANTIATE_TEST_SUITE_P(Simulation, EveryShape,
                         testing::Values(std::pair{1U, 1U}, std::pair{1U, 2U}, std::pair{2U, 1U}, std::pair{2U, 2U},
                                         std::pair{4U, 1U}, std::pair{2U, 3U}),
                         [](const auto& shape) {
                           return std::to_string(shape.param.first) + "x" + std::to_string(shape.param.second);
                         });

TEST(Simulation, ASeedReplaysMessageForMessage) {
  const auto fingerprint = [](std::uint64_t seed) {
    SimulatedSwarm swarm(SwarmShape{}, seed);
    swarm.run();
    return swarm.fingerprint();
  };
  EXPECT_EQ(fingerprint(7), fingerprint(7));
  EXPECT_NE(fingerprint(7), fingerprint(8)) << "another seed is another run";
}

}  // namespace
}  // namespace shoal::training_test
