// A replica that dies comes back while the others train: at the end every stage has all its replicas again, each with
// the very state of its peers, and the weights are those of an undisturbed run.
#include <algorithm>

#include <gmock/gmock.h>

#include "runtime/journal/view.h"
#include "tests/simulation/seeds.h"
#include "tests/support/journal/journal_facts.h"

namespace shoal::rejoin_test {
namespace {

constexpr std::uint64_t kSeeds = 50;

constexpr std::uint64_t kSalt = 2;

// Long enough for a keeper's pause and a join.
[[nodiscard]] SwarmShape long_run(std::uint32_t stages = 2, std::uint32_t replicas = 2) {
  SwarmShape shape = shape_of(stages, replicas);
  shape.steps = 60;
  return shape;
}

void kill_a_stage(SimulatedSwarm& swarm, Chance& chance) {
  const auto nodes = nodes_of(swarm);
  if (!nodes.empty()) (void)swarm.kill_stage(nodes[chance.below(nodes.size())]);
}

void expect_whole(const SimulatedSwarm& swarm) {
  EXPECT_EQ(violations(swarm), "");
  if (!swarm.knobs().empty()) return;  // small bounds lose letters that are asked for again; the run may be over before
  const View view = view_of(swarm);
  for (std::uint32_t stage = 0; stage < swarm.shape().stages; ++stage) {
    EXPECT_EQ(view.replicas_of(StageId{stage}).size(), swarm.shape().replicas) << "stage " << stage << "\n"
                                                                               << describe_run(swarm);
  }
}

using Fault = std::function<void(SimulatedSwarm&, Chance&)>;

// One fault in the first half of the run.
void expect_back(const SwarmShape& shape, std::uint64_t seeds, const Fault& fault) {
  const std::uint64_t messages = messages_of_undisturbed(shape);
  std::size_t contributed = 0;
  const std::uint64_t runs = for_each_seed(seeds, [&](std::uint64_t seed) {
    Chance chance(seed, kSalt);
    SimulatedSwarm swarm(shape, seed);
    const std::uint64_t at = chance.below(messages / 2);
    if (run_to_message(swarm, at)) fault(swarm, chance);
    swarm.run();
    SCOPED_TRACE("the fault was at message " + std::to_string(at));
    expect_whole(swarm);
    contributed += contributed_by_joiners(swarm.journal());
  });
  const std::uint64_t runs_that_may_miss = 10;
  EXPECT_GT(contributed + 10 * runs_that_may_miss, 10 * runs) << "who comes back works";
}

TEST(Rejoin, ANodeOfTwoByTwo) { expect_back(long_run(), kSeeds, kill_a_node); }

TEST(Rejoin, ANodeOfThreeByThree) { expect_back(long_run(3, 3), kSeeds / 5, kill_a_node); }

TEST(Rejoin, AStageActorAlone) { expect_back(long_run(), kSeeds, kill_a_stage); }

// The donor, the joiner or any other process is killed while a joiner is on its way. When a stage is left without a
// replica the run may end; all that it did until then is right.
TEST(Rejoin, WhoeverIsKilledWhileAReplicaJoins) {
  for_each_seed(kSeeds, [&](std::uint64_t seed) {
    Chance chance(seed, kSalt);
    SimulatedSwarm swarm(long_run(2, 3), seed);
    run_to_message(swarm, 2000 + chance.below(1000));
    kill_a_node(swarm, chance);
    while (swarm.record().reasons_of(RunEventKind::kReplicaStarting).empty() && swarm.run_one()) {
    }
    run_to_message(swarm, swarm.clockwork().messages() + chance.below(400));
    if (chance.below(2) == 0) {
      kill_a_node(swarm, chance);
    } else {
      kill_a_stage(swarm, chance);
    }
    swarm.run();
    expect_whole(swarm);
  });
}

// Letters of the transfer are lost and doubled all the time, those that ask and those that answer.
TEST(Rejoin, OverLinksThatLoseAndDoubleTheTransfer) {
  SwarmShape shape = long_run();
  shape.steps = 200;
  for_each_seed(kSeeds / 5, [&](std::uint64_t seed) {
    shape.filter = [random = std::make_shared<std::mt19937_64>(seed)](const Letter& letter) {
      const bool is_transfer =
          std::holds_alternative<FetchState>(letter.body) || std::holds_alternative<StateImage>(letter.body) ||
          std::holds_alternative<StepSum>(letter.body) || std::holds_alternative<StateUnavailable>(letter.body);
      return is_transfer ? static_cast<int>((*random)() % 3) : 1;
    };
    Chance chance(seed, kSalt);
    SimulatedSwarm swarm(shape, seed);
    run_to_message(swarm, 2000 + chance.below(3000));
    kill_a_node(swarm, chance);
    swarm.run();
    EXPECT_EQ(violations(swarm), "");
  });
}

// Actors of one worker end again and again: it is left alone after a few times, which is said once, and the run goes
// on.
TEST(Rejoin, AStormOfEndsTripsTheBudgetAndIsSaidOnce) {
  for_each_seed(kSeeds / 5, [&](std::uint64_t seed) {
    SimulatedSwarm swarm(long_run(), seed);
    run_to_message(swarm, 3000);
    std::size_t ends = 0;
    for (std::uint64_t message = 3000; run_to_message(swarm, message); message += 50) {
      if (swarm.is_alive("node2") && swarm.kill_stage("node2")) ++ends;
    }
    EXPECT_EQ(violations(swarm), "");
    EXPECT_GE(ends, 4U);
    EXPECT_EQ(swarm.record().reasons_of(RunEventKind::kRestartBudgetSpent).size(), 1U) << describe_run(swarm);
    EXPECT_LE(swarm.record().reasons_of(RunEventKind::kReplicaStarting).size(), 8U) << describe_run(swarm);
  });
}

}  // namespace
}  // namespace shoal::rejoin_test
