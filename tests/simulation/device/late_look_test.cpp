// Faults that fall while the supervisor waits for the disk, which reads the checkpoint that all go back to: whoever
// dies, comes or is cut off meanwhile, the spawner too, nothing is lost that was saved, and the run comes to its end.
#include <gtest/gtest.h>

#include <iostream>

#include "runtime/base/compose.h"
#include "tests/simulation/faults.h"

namespace shoal::late_look_test {
namespace {

constexpr std::uint64_t kSeeds = 60;
constexpr std::uint64_t kSalt = 19;
constexpr std::uint64_t kWithin = 200;  // messages

// Kills a node, the only one of its stage, and goes on until the disk is read. False: the run was over before, or the
// look at once.
[[nodiscard]] bool run_to_a_look(SimulatedSwarm& swarm, std::uint64_t messages, Chance& chance) {
  if (!run_to_message(swarm, chance.below(messages))) return false;
  kill_a_node(swarm, chance);
  while (swarm.late_looks().under_way == 0) {
    if (!swarm.run_one()) return false;
  }
  return true;
}

TEST(LateLook, WithFaultsMeanwhileHarmsNothing) {
  const SwarmShape shape = shape_of(2, 1, 2);
  const std::uint64_t messages = messages_of_undisturbed(shape);
  std::uint64_t within = 0, looks = 0;
  const std::uint64_t seeds = for_each_seed(kSeeds, [&](std::uint64_t seed) {
    Chance chance(seed, kSalt);
    SimulatedSwarm swarm(shape, seed);
    std::string story = "no look";
    if (run_to_a_look(swarm, messages, chance)) {
      story.clear();
      for (std::uint64_t fault = 1 + chance.below(3); fault > 0; --fault) {
        for (std::uint64_t message = chance.below(kWithin); message > 0 && swarm.run_one(); --message) {
        }
        within += swarm.late_looks().under_way > 0 ? 1 : 0;
        story += inflict_any(swarm, chance) + "; ";
      }
    }
    swarm.run();
    EXPECT_EQ(violations(swarm), "") << story;
    looks += swarm.late_looks().ended;
  });
  std::cout << within << " faults while the disk was read, " << looks << " looks in " << seeds << " runs\n";
  EXPECT_GT(3 * within, seeds) << "faults that fall elsewhere";
}

}  // namespace
}  // namespace shoal::late_look_test
