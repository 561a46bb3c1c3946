// One to three faults of any kind, at moments that matter, in a run of any shape: whatever they do together, no
// microbatch is lost or doubled, the weights are those of an undisturbed run, and it ends within a stated time.
#include <gtest/gtest.h>

#include "runtime/base/compose.h"
#include "tests/simulation/faults.h"

namespace shoal::any_fault_test {
namespace {

constexpr std::uint64_t kSeeds = 200;
constexpr std::uint64_t kSalt = 4;

// Stages, replicas, checkpoint every.
constexpr std::array<std::array<std::uint32_t, 3>, 8> kShapes = {
    {{2, 2, 0}, {2, 2, 3}, {2, 3, 0}, {2, 3, 3}, {3, 2, 3}, {1, 3, 0}, {1, 2, 2}, {2, 1, 2}}};

[[nodiscard]] SwarmShape any_shape(Chance& chance) {
  const auto& [stages, replicas, checkpoint_every] = kShapes.at(chance.below(kShapes.size()));
  return shape_of(stages, replicas, checkpoint_every);
}

TEST(AnyFault, AtAnyMomentHarmsNothing) {
  for_each_seed(kSeeds, [](std::uint64_t seed) {
    Chance chance(seed, kSalt);
    WatchedSwarm watched(any_shape(chance), seed);
    expect_harmless(watched, chance);
  });
}

}  // namespace
}  // namespace shoal::any_fault_test
