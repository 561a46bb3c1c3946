// Late messages must not count: a part of a sum that was given up, an answer after the manifest, a vote of a stage that
// has changed since. Slow ways make them come late; they are three of the planted bugs.
#include <gtest/gtest.h>

#include "runtime/journal/view.h"
#include "tests/simulation/faults.h"

namespace shoal::race_test {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kSeeds = 50;
constexpr std::uint64_t kSalt = 5;

// Slows ways from every replica of one stage to every one of the other; the same stage: among themselves.
void slow_ways(SimulatedSwarm& swarm, StageId from, StageId to, Duration longest) {
  const View view = view_of(swarm);
  for (const ReplicaMember& one : view.replicas_of(from)) {
    for (const ReplicaMember& other : view.replicas_of(to)) {
      const auto begin = swarm.port_of(one.process);
      const auto end = swarm.port_of(other.process);
      if (begin && end && begin != end) swarm.network().slow({*begin, *end}, longest);
    }
  }
}

[[nodiscard]] bool run_to_letter(SimulatedSwarm& swarm, const LetterWatch& watch, std::string_view kind,
                                 std::uint64_t count) {
  while (watch.seen(kind) < count) {
    if (!swarm.run_one()) return false;
  }
  return true;
}

void end_stage_of(SimulatedSwarm& swarm, ProcessIncarnation process) {
  for (const std::string& node : nodes_of(swarm)) {
    if (swarm.port_of(node) == swarm.port_of(process)) (void)swarm.kill_stage(node);
  }
}

struct Race : WatchedSwarm {
  Race(std::uint32_t replicas, std::uint64_t seed) : WatchedSwarm(shape_of(2, replicas), seed), chance(seed, kSalt) {}

  Chance chance;
};

void end_one_of(Race& race, StageId stage) {
  const auto members = view_of(race.swarm).replicas_of(stage);
  if (!members.empty()) end_stage_of(race.swarm, members[race.chance.below(members.size())].process);
}

// One of three replicas ends while their sum is under way; the others' parts are still on theirs when the next begins.
TEST(LatePart, OfASumThatWasGivenUpCountsInNoOther) {
  for_each_seed(kSeeds, [](std::uint64_t seed) {
    Race race(3, seed);
    auto& [watch, swarm] = static_cast<WatchedSwarm&>(race);
    Chance& chance = race.chance;
    const StageId stage{static_cast<std::uint32_t>(chance.below(2))};
    bool is_running = run_to_letter(swarm, watch, "Part", 1 + chance.below(40));
    slow_ways(swarm, stage, stage, 300ms);
    is_running = is_running && run_to_letter(swarm, watch, "Part", watch.seen("Part") + 1 + chance.below(10));
    if (is_running) end_one_of(race, stage);
    swarm.run();
    EXPECT_EQ(violations(swarm), "");
  });
}

// Two replicas of the first stage wait for the answer to one microbatch, and it comes late to one of them.
TEST(LateAnswer, ToADoubledMicrobatchIsInNoSum) {
  for_each_seed(kSeeds, [](std::uint64_t seed) {
    Race race(2, seed);
    auto& [watch, swarm] = static_cast<WatchedSwarm&>(race);
    Chance& chance = race.chance;
    const bool is_running = run_to_letter(swarm, watch, "Forward", 1 + chance.below(60));
    slow_ways(swarm, StageId{1}, StageId{0}, 20ms);
    if (is_running) (void)double_a_forward(swarm, chance);
    swarm.run();
    EXPECT_EQ(violations(swarm), "");
  });
}

// A replica ends when its stage has prepared, with its answers still on their way: who waits for them drops them, and
// its peer, which is frozen, refuses what they were the answers to.
TEST(LateAnswer, OfARemovedReplicaKeepsNobodyWaiting) {
  for_each_seed(kSeeds, [](std::uint64_t seed) {
    Race race(2, seed);
    auto& [watch, swarm] = static_cast<WatchedSwarm&>(race);
    Chance& chance = race.chance;
    bool is_running = run_to_letter(swarm, watch, "Backward", 1 + chance.below(80));
    slow_ways(swarm, StageId{1}, StageId{0}, 10ms);
    is_running = is_running && run_to_letter(swarm, watch, "Prepare", watch.seen("Prepare") + 1);
    is_running = is_running && run_to_message(swarm, swarm.clockwork().messages() + chance.below(10));
    if (is_running) end_one_of(race, StageId{1});
    swarm.run();
    EXPECT_EQ(violations(swarm), "");
  });
}

// A replica ends after its stage has voted, while the other stage still makes its sum: nobody commits with it (P-22).
TEST(LateEnd, OfAReplicaVoidsTheVoteOfItsStage) {
  for_each_seed(kSeeds, [](std::uint64_t seed) {
    Race race(2, seed);
    auto& [watch, swarm] = static_cast<WatchedSwarm&>(race);
    Chance& chance = race.chance;
    const StageId stage{static_cast<std::uint32_t>(chance.below(2))};
    const StageId slow{1 - stage.value};
    bool is_running = run_to_letter(swarm, watch, "Prepare", 1 + chance.below(20));
    slow_ways(swarm, slow, slow, 300ms);
    is_running = is_running && run_to_letter(swarm, watch, "Reduced", watch.seen("Reduced") + 2);
    is_running = is_running && run_to_message(swarm, swarm.clockwork().messages() + chance.below(30));
    if (is_running) end_one_of(race, stage);
    swarm.run();
    EXPECT_EQ(violations(swarm), "");
  });
}

}  // namespace
}  // namespace shoal::race_test
