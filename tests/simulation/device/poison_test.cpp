// A microbatch that ends whoever computes it costs two replicas, is quarantined, and the run goes on: its weights are
// those of one process that leaves this microbatch out.
#include <gmock/gmock.h>

#include "runtime/journal/view.h"
#include "tests/simulation/seeds.h"

namespace shoal::poison_test {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

constexpr std::uint64_t kSeeds = 12;

struct Case {
  std::uint32_t replicas = 2;
  StageId stage{1};
  bool in_backward = false;
  bool ends_process = false;
};

std::ostream& operator<<(std::ostream& out, const Case& tested) {
  return out << tested.replicas << " replicas, stage " << tested.stage
             << (tested.in_backward ? ", in its backward" : ", in its forward")
             << (tested.ends_process ? ", with its process" : "");
}

[[nodiscard]] SwarmShape poisoned(const Case& tested) {
  SwarmShape shape;
  shape.replicas = tested.replicas;
  shape.steps = 12;
  shape.poison = SwarmPoison{};
  shape.poison->stage = tested.stage;
  shape.poison->in_backward = tested.in_backward;
  shape.poison->ends_process = tested.ends_process;
  return shape;
}

[[nodiscard]] std::vector<Quarantine> quarantines_of(const SimulatedSwarm& swarm) {
  std::vector<Quarantine> found;
  for (const JournalEntry& entry : swarm.journal()) {
    if (const auto* quarantine = std::get_if<Quarantine>(&entry.body)) found.push_back(*quarantine);
  }
  return found;
}

void expect_it_alone(const SimulatedSwarm& swarm) {
  EXPECT_EQ(violations(swarm), "");
  const auto found = quarantines_of(swarm);
  ASSERT_THAT(found, SizeIs(1)) << describe_run(swarm);
  EXPECT_EQ(found[0].step, swarm.shape().poison->step);
  EXPECT_EQ(found[0].microbatch, swarm.shape().poison->microbatch);
  EXPECT_THAT(swarm.record().reasons_of(RunEventKind::kMicrobatchQuarantined), SizeIs(1));
}

class PoisonedMicrobatch : public testing::TestWithParam<Case> {};

TEST_P(PoisonedMicrobatch, IsQuarantinedAfterTwoReplicasAndTheRunGoesOnWithoutIt) {
  for_each_seed(kSeeds, [](std::uint64_t seed) {
    SimulatedSwarm swarm(poisoned(GetParam()), seed);
    swarm.run();
    expect_it_alone(swarm);
  });
}

INSTANTIATE_TEST_SUITE_P(Everywhere, PoisonedMicrobatch,
                         testing::Values(Case{2, StageId{1}}, Case{3, StageId{1}}, Case{1, StageId{1}},
                                         Case{2, StageId{0}}, Case{3, StageId{0}, true}, Case{2, StageId{0}, true},
                                         Case{2, StageId{1}, false, true}, Case{1, StageId{0}, true, true},
                                         Case{3, StageId{1}, false, true}));

// Negative control of the rule: what ends one replica is computed by the next, and counted.
TEST(PoisonedMicrobatch, ThatEndsOneReplicaOnlyIsCounted) {
  for_each_seed(kSeeds, [](std::uint64_t seed) {
    SwarmShape shape = poisoned(Case{});
    shape.poison->times_max = 1;
    SimulatedSwarm swarm(shape, seed);
    swarm.run();
    EXPECT_EQ(violations(swarm), "");
    EXPECT_THAT(quarantines_of(swarm), IsEmpty());
    EXPECT_THAT(swarm.record().reasons_of(RunEventKind::kMicrobatchSuspected), SizeIs(1));
  });
}

// Negative control of the verdict: the weights with the microbatch are others.
TEST(PoisonedMicrobatch, ShowsInTheWeights) {
  Quarantines left_out;
  left_out.insert(StepId{4}, MicrobatchId{3});
  EXPECT_NE(compute_reference(12, 6, left_out).weights, compute_reference(12, 6).weights);
}

// Other kills meanwhile leave nothing but the poisoned microbatch out, for a kill is not its victim's fault.
TEST(PoisonedMicrobatch, IsTheOnlyOneThatIsLeftOutWhileOthersAreKilled) {
  const std::uint64_t messages = messages_of_undisturbed(poisoned(Case{1}));
  for_each_seed(40, [messages](std::uint64_t seed) {
    std::mt19937_64 random(seed);
    Case tested{2 + static_cast<std::uint32_t>(random() % 2), StageId{static_cast<std::uint32_t>(random() % 2)}};
    tested.in_backward = tested.stage.value == 0 && random() % 2 == 0;
    tested.ends_process = random() % 2 == 0;
    SimulatedSwarm swarm(poisoned(tested), seed);
    for (int kill = 0; kill < 3; ++kill) {
      if (!run_to_message(swarm, swarm.clockwork().messages() + random() % (messages / 4))) break;
      const auto names = swarm.processes();
      const std::string victim = names.empty() ? "" : names[random() % names.size()];
      if (!victim.empty() && victim != "storage") swarm.kill(victim);
    }
    swarm.run();
    expect_it_alone(swarm);
  });
}

}  // namespace
}  // namespace shoal::poison_test
