// Replicas move between stages while the run trains, with faults at any message: every microbatch counts once, the bits
// are those of one process, and a move that was begun ends.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "runtime/base/compose.h"
#include "tests/simulation/faults.h"
#include "tests/simulation/seeds.h"

namespace shoal::moves_test {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kSalt = 29;
constexpr std::uint64_t kSeeds = 6;

// Stages with one to four replicas each, in a run long enough for several moves.
SwarmShape unbalanced(Chance& chance) {
  SwarmShape shape = shape_of(2 + static_cast<std::uint32_t>(chance.below(3)), 1, chance.below(2) == 0 ? 0 : 3);
  shape.replicas_listed = {3 + static_cast<std::uint32_t>(chance.below(2))};
  while (shape.replicas_listed.size() < shape.stages) {
    shape.replicas_listed.push_back(1 + static_cast<std::uint32_t>(chance.below(2)));
  }
  std::swap(shape.replicas_listed.front(), shape.replicas_listed[chance.below(shape.stages)]);
  shape.steps = 30;
  shape.rebalance_every = std::chrono::milliseconds(50 + chance.below(300));
  shape.schedule = chance.below(2) == 0 ? Schedule::kAfab : Schedule::k1f1b;
  shape.routing = static_cast<Routing>(chance.below(4));
  shape.has_late_devices = chance.below(2) == 0;
  return shape;
}

std::size_t count_of(const SimulatedSwarm& swarm, RunEventKind kind) { return swarm.record().reasons_of(kind).size(); }

// Replicas of each stage in the view that the journal ends with.
std::vector<std::size_t> replicas_at_end(const SimulatedSwarm& swarm) {
  std::map<Incarnation, StageId> members;
  for (const JournalEntry& entry : swarm.journal()) {
    if (const auto* added = std::get_if<AddReplica>(&entry.body)) members[added->replica] = added->stage;
    if (const auto* removed = std::get_if<RemoveReplica>(&entry.body)) members.erase(removed->replica);
  }
  std::vector<std::size_t> counts(swarm.shape().stages);
  for (const auto& [replica, stage] : members) ++counts[stage.value];
  return counts;
}

TEST(Moves, BringTheStagesToWithinOneReplicaOfEachOther) {
  std::size_t moves = 0;
  const std::uint64_t seeds = for_each_seed(kSeeds, [&](std::uint64_t seed) {
    Chance chance(seed, kSalt);
    SwarmShape shape = unbalanced(chance);
    shape.has_late_devices = false;  // a device that takes no time is as fast as any
    shape.rebalance_every = 50ms;    // soon enough for all of them before the run's end, where a move does not pay
    shape.steps = 60;
    SimulatedSwarm swarm(shape, seed);
    swarm.run();
    EXPECT_EQ(violations(swarm), "");
    moves += count_of(swarm, RunEventKind::kMoved);
    const auto counts = replicas_at_end(swarm);
    const auto [least, most] = std::ranges::minmax_element(counts);
    EXPECT_LE(*most - *least, 1U) << "seed " << seed;
  });
  EXPECT_GE(moves, seeds / 2);
}

TEST(Moves, WithoutAPeriodTheStagesStayAsTheyWerePlaced) {
  for_each_seed(2, [](std::uint64_t seed) {
    Chance chance(seed, kSalt);
    SwarmShape shape = unbalanced(chance);
    shape.rebalance_every.reset();
    SimulatedSwarm swarm(shape, seed);
    swarm.run();
    EXPECT_EQ(violations(swarm), "");
    EXPECT_EQ(count_of(swarm, RunEventKind::kMoving), 0U);
    const auto counts = replicas_at_end(swarm);
    EXPECT_TRUE(std::ranges::equal(counts, shape.replicas_listed)) << "seed " << seed;
  });
}

TEST(Moves, KeepEveryPromiseUnderFaults) {
  std::size_t moves = 0;
  const std::uint64_t seeds = for_each_seed(kSeeds, [&](std::uint64_t seed) {
    Chance chance(seed, kSalt + 1);
    WatchedSwarm watched(unbalanced(chance), seed);
    expect_harmless(watched, chance);
    moves += count_of(watched.swarm, RunEventKind::kMoved);
  });
  if (seeds >= kSeeds) {  // a single run may be over before anybody moves
    EXPECT_GT(moves, 0U);
  }
}

TEST(Moves, KeepEveryPromiseOfRounds) {
  for_each_seed(kSeeds, [](std::uint64_t seed) {
    Chance chance(seed, kSalt + 2);
    SwarmShape shape = shape_with_rounds(chance, 2);
    shape.stages = 2;
    shape.replicas_listed = {3, 1};
    shape.steps = 24;
    shape.rebalance_every = std::chrono::milliseconds(50 + chance.below(300));
    SimulatedSwarm swarm(shape, seed);
    swarm.run();
    EXPECT_EQ(violations(swarm), "");
  });
}

}  // namespace
}  // namespace shoal::moves_test
