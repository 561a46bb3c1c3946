// Workers that serve several stages (`swarm.share_devices`): whatever fails, no microbatch is lost or doubled and the
// weights are the same; a machine that joins takes a stage over, and one that is gone for good leaves its stages to the
// others. At no moment does a worker serve one stage twice (P-25b).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "runtime/base/compose.h"
#include "tests/simulation/faults.h"

namespace shoal::shared_device_test {
namespace {

constexpr std::uint64_t kSeeds = 60;
constexpr std::uint64_t kSalt = 29;

// Stages, replicas, nodes, checkpoint every.
constexpr std::array<std::array<std::uint32_t, 4>, 7> kShapes = {
    {{2, 1, 1, 2}, {2, 2, 2, 0}, {2, 2, 3, 3}, {3, 1, 2, 3}, {3, 2, 2, 3}, {4, 2, 3, 0}, {2, 2, 1, 2}}};

[[nodiscard]] SwarmShape shared_shape(Chance& chance) {
  const auto& [stages, replicas, nodes, checkpoint_every] = kShapes.at(chance.below(kShapes.size()));
  SwarmShape shape = shape_of(stages, replicas, checkpoint_every);
  shape.nodes = nodes;
  shape.shares_devices = true;
  shape.schedule = chance.below(2) == 0 ? Schedule::k1f1b : Schedule::kAfab;
  shape.has_late_devices = chance.below(2) == 0;
  return shape;
}

struct Sharing {
  std::size_t most = 0;    // stages of one worker, at any moment
  std::string violations;  // a stage twice on one worker
};

[[nodiscard]] Sharing sharing_in(const std::vector<JournalEntry>& entries, std::uint32_t stages) {
  Sharing sharing;
  View view;
  for (const JournalEntry& entry : entries) {
    view.apply(entry);
    std::map<ProcessIncarnation, std::set<StageId>> serves;
    for (std::uint32_t stage = 0; stage < std::min(stages, view.stage_count()); ++stage) {
      for (const ReplicaMember& member : view.replicas_of(StageId{stage})) {
        const bool is_first = serves[member.process].insert(StageId{stage}).second;
        if (!is_first) sharing.violations += compose("process ", member.process, " serves stage ", stage, " twice; ");
        sharing.most = std::max(sharing.most, serves[member.process].size());
      }
    }
  }
  return sharing;
}

[[nodiscard]] Sharing sharing_in(const SimulatedSwarm& swarm) {
  return sharing_in(swarm.journal(), swarm.shape().stages);
}

void expect_good(const SimulatedSwarm& swarm, const std::string& story = {}) {
  EXPECT_EQ(violations(swarm), "") << story;
  EXPECT_EQ(sharing_in(swarm).violations, "") << story << describe_run(swarm);
}

TEST(SharedDevice, EndsInTheWeightsOfOneProcess) {
  for_each_seed(kSeeds / 2, [](std::uint64_t seed) {
    Chance chance(seed, kSalt);
    SimulatedSwarm swarm(shared_shape(chance), seed);
    swarm.run();
    expect_good(swarm);
    EXPECT_GT(sharing_in(swarm).most, 1U) << "the control: workers did serve several";
  });
}

TEST(SharedDevice, WithFaultsAtAnyMomentHarmsNothing) {
  for_each_seed(4 * kSeeds, [](std::uint64_t seed) {
    Chance chance(seed, kSalt + 1);
    WatchedSwarm watched(shared_shape(chance), seed);
    const std::string story = expect_harmless(watched, chance);
    expect_good(watched.swarm, story);
  });
}

TEST(SharedDevice, WithRoundsAndFaultsHarmsNothing) {
  for_each_seed(kSeeds, [](std::uint64_t seed) {
    Chance chance(seed, kSalt + 2);
    SwarmShape shape = shape_with_rounds(chance, 3);
    shape.stages = 2;
    shape.nodes = 2 + static_cast<std::uint32_t>(chance.below(shape.replicas));
    shape.shares_devices = true;
    WatchedSwarm watched(std::move(shape), seed);
    const std::string story = expect_harmless(watched, chance);
    expect_good(watched.swarm, story);
  });
}

// One after the other, at any moment, until each stage has a worker of its own.
TEST(SharedDevice, MachinesThatJoinTakeStagesOver) {
  std::uint64_t taken_over = 0;
  const std::uint64_t seeds = for_each_seed(kSeeds, [&taken_over](std::uint64_t seed) {
    Chance chance(seed, kSalt + 3);
    SwarmShape shape = shared_shape(chance);
    shape.steps = 80;
    SimulatedSwarm swarm(shape, seed);
    const std::uint32_t wanted = shape.stages * shape.replicas;
    for (std::uint32_t nodes = shape.nodes; nodes < wanted; ++nodes) {
      if (run_to_message(swarm, swarm.clockwork().messages() + 1 + chance.below(1500))) swarm.add_node();
    }
    swarm.run();
    expect_good(swarm);
    if (!swarm.knobs().empty())
      return;  // small bounds lose letters that are asked for again; the run may be over before
    taken_over += swarm.record().reasons_of(RunEventKind::kGivingWay).size();
    std::map<ProcessIncarnation, int> serves;
    const View view = view_of(swarm);
    for (std::uint32_t stage = 0; stage < shape.stages; ++stage) {
      const auto members = view.replicas_of(StageId{stage});
      EXPECT_EQ(members.size(), shape.replicas) << "stage " << stage << describe_run(swarm);
      for (const ReplicaMember& member : members) ++serves[member.process];
    }
    for (const auto& [process, stages] : serves) EXPECT_EQ(stages, 1) << describe_run(swarm);
  });
  EXPECT_TRUE(taken_over > 0 || seeds < 20) << "the control";
}

TEST(SharedDevice, MachinesThatJoinAmongFaultsHarmNothing) {
  for_each_seed(2 * kSeeds, [](std::uint64_t seed) {
    Chance chance(seed, kSalt + 4);
    SwarmShape shape = shared_shape(chance);
    shape.steps = 30;
    WatchedSwarm watched(std::move(shape), seed);
    SimulatedSwarm& swarm = watched.swarm;
    if (run_to_message(swarm, 1 + chance.below(4000))) swarm.add_node();
    const std::string story = expect_harmless(watched, chance);
    expect_good(swarm, story);
  });
}

void lose_a_machine(std::uint64_t seed, bool shares, const std::function<void(const SimulatedSwarm&)>& judge) {
  Chance chance(seed, kSalt + 5);
  SwarmShape shape = shape_of(2, 1, 2);
  shape.shares_devices = shares;
  shape.steps = 20;
  SimulatedSwarm swarm(shape, seed);
  const std::uint64_t steps = chance.below(shape.steps / 2);
  while (view_of(swarm).committed_steps() <= steps && swarm.run_one()) {
  }
  swarm.take_away(compose("node", 1 + chance.below(2)));
  swarm.run();
  judge(swarm);
}

TEST(SharedDevice, AMachineThatIsGoneForGoodLeavesItsStageToAnother) {
  for_each_seed(kSeeds / 2, [](std::uint64_t seed) {
    lose_a_machine(seed, true, [](const SimulatedSwarm& swarm) {
      expect_good(swarm);
      EXPECT_EQ(sharing_in(swarm).most, 2U);
    });
  });
}

// The control: without shared devices the run stands.
TEST(SharedDevice, WhereDevicesAreNotSharedNobodyTakesTheStageOfAMachineThatIsGone) {
  for_each_seed(2, [](std::uint64_t seed) {
    lose_a_machine(seed, false, [](const SimulatedSwarm& swarm) { EXPECT_FALSE(swarm.record().end); });
  });
}

// Controls of what is judged here.
TEST(SharedDevice, AStageTwiceOnAWorkerIsNoticed) {
  const auto add = [](std::uint64_t position, std::uint32_t stage, std::uint64_t process) {
    const AddReplica added{StageId{stage}, ReplicaId{0}, Incarnation{position}, ProcessIncarnation{process}, 0};
    return JournalEntry{JournalPosition{position}, Branch{}, Term{1}, added};
  };
  const Sharing apart = sharing_in({add(1, 0, 5), add(2, 1, 5), add(3, 0, 6)}, 2);
  EXPECT_EQ(apart.violations, "");
  EXPECT_EQ(apart.most, 2U);
  EXPECT_EQ(sharing_in({add(1, 0, 5), add(2, 0, 5)}, 2).violations, "process 5 serves stage 0 twice; ");
}

}  // namespace
}  // namespace shoal::shared_device_test
