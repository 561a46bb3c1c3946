// sync.quorum below the number of replicas: rounds close without a late member, which stays a member, comes to the
// same outer state, and loses the tokens it brought too late and nothing else.
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/journal/round_plan.h"
#include "runtime/sync/rounds/kept_means.h"
#include "tests/simulation/faults.h"

namespace shoal::missed_rounds_test {
namespace {

constexpr std::uint64_t kSeeds = 100;
constexpr std::uint64_t kSalt = 11;

[[nodiscard]] SwarmShape shape_with_quorum(Chance& chance, int quorum) {
  SwarmShape shape = shape_with_rounds(chance, 3);
  shape.sync.quorum = quorum;
  return shape;
}

struct Misses {
  std::size_t rounds = 0;    // in all stages
  std::size_t missed = 0;    // shares that are not there
  std::size_t removals = 0;  // those of members
};

[[nodiscard]] Misses misses_of(const SimulatedSwarm& swarm) {
  Misses found;
  View view;
  for (const JournalEntry& entry : swarm.journal()) {
    if (const auto* round = std::get_if<CommitRound>(&entry.body)) {
      ++found.rounds;
      found.missed += view.replicas_of(round->stage).size() - round->shares.size();
    }
    if (std::holds_alternative<RemoveReplica>(entry.body)) ++found.removals;
    view.apply(entry);
  }
  return found;
}

[[nodiscard]] std::size_t rounds_planned(const SwarmShape& shape) {
  std::size_t count = 0;
  for (std::uint64_t version = 1; version <= shape.steps; ++version) {
    count += shape.stages * RoundSchedule(shape.sync).contributions_at(version).size();
  }
  return count;
}

// violations() has the books of every round, and the digest of the outer state of every member after every step.
TEST(MissedRounds, OfAnUndisturbedRunEndNobodyAndLeaveAllInAgreement) {
  for (const int quorum : {1, 0}) {  // 0: the control
    std::size_t missed = 0;
    const std::uint64_t ran = for_each_seed(kSeeds, [&](std::uint64_t seed) {
      Chance chance(seed, kSalt);
      SimulatedSwarm swarm(shape_with_quorum(chance, quorum), seed);
      swarm.run();
      EXPECT_EQ(violations(swarm), "");
      const Misses found = misses_of(swarm);
      EXPECT_EQ(found.rounds, rounds_planned(swarm.shape()));
      EXPECT_EQ(found.removals, 0U);
      EXPECT_EQ(swarm.record().reasons_of(RunEventKind::kRoundClosed).empty(), found.missed == 0);
      for (const StepRecord& line : swarm.record().lines) {
        EXPECT_LT(line.step_ms, milliseconds(KeptMeans::kMeanLost)) << "no mean is lost: step " << line.step;
      }
      missed += found.missed;
    });
    if (quorum == 0) {
      EXPECT_EQ(missed, 0U);
    } else {
      EXPECT_TRUE(missed > 0 || ran < kSeeds || testing::Test::HasFailure()) << "nobody was ever late";
    }
  }
}

TEST(MissedRounds, WithFaultsAtAnyMomentHarmNone) {
  for_each_seed(kSeeds, [](std::uint64_t seed) {
    Chance chance(seed, kSalt);
    SwarmShape shape = shape_with_quorum(chance, 1);
    shape.sync.requeue_lost = chance.below(2) == 0;
    WatchedSwarm watched(shape, seed);
    (void)expect_harmless(watched, chance);
  });
}

// Runs until somebody asks for a mean, or gets one, and a few letters on.
void run_into_a_copy(WatchedSwarm& watched, Chance& chance) {
  const char* const kind = chance.below(2) == 0 ? "FetchState" : "StepSum";
  const std::uint64_t before = watched.watch.seen(kind);
  while (watched.watch.seen(kind) == before && watched.swarm.run_one()) continue;
  for (std::uint64_t letters = chance.below(4); letters > 0 && watched.swarm.run_one(); --letters) continue;
}

// The holder of the mean may die while another copies it, and so may the one that copies it.
TEST(MissedRounds, SurviveADeathInTheMiddleOfTheCopy) {
  std::size_t ended = 0;
  const std::uint64_t ran = for_each_seed(kSeeds, [&](std::uint64_t seed) {
    Chance chance(seed, kSalt);
    WatchedSwarm watched(shape_with_quorum(chance, 1), seed);
    SimulatedSwarm& swarm = watched.swarm;
    for (std::uint64_t deaths = 1 + chance.below(2); deaths > 0; --deaths) {
      run_into_a_copy(watched, chance);
      if (!swarm.record().end) kill_a_node(swarm, chance);
    }
    swarm.run();
    EXPECT_EQ(violations(swarm), "");
    const auto removed = swarm.journal();
    ended += static_cast<std::size_t>(std::ranges::count_if(removed, [](const JournalEntry& entry) {
      const auto* gone = std::get_if<RemoveReplica>(&entry.body);
      return gone != nullptr && gone->reason.find("nobody who has its mean is left") != std::string::npos;
    }));
  });
  EXPECT_TRUE(ended > 0 || ran < kSeeds || testing::Test::HasFailure()) << "the last holder never died";
}

// A question and a mean may be lost with the link they were on, who asks may be stopped, the spawner may come again.
TEST(MissedRounds, SurviveAnyFaultInTheMiddleOfTheCopy) {
  for_each_seed(kSeeds, [](std::uint64_t seed) {
    Chance chance(seed, kSalt);
    WatchedSwarm watched(shape_with_quorum(chance, 1), seed);
    std::string story;
    for (int faults = 0; faults < 3; ++faults) {
      run_into_a_copy(watched, chance);
      if (!watched.swarm.record().end) story += inflict_any(watched.swarm, chance) + "; ";
    }
    watched.swarm.run();
    EXPECT_EQ(violations(watched.swarm), "") << story;
  });
}

}  // namespace
}  // namespace shoal::missed_rounds_test
