// sync.mode = diloco under faults: steps are committed once, every round is the mean of what its entry names, members
// agree, and the run ends.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <set>

#include "runtime/base/compose.h"
#include "runtime/journal/round_plan.h"
#include "runtime/trace/metrics/approximated.h"
#include "tests/simulation/faults.h"

namespace shoal::rounds_test {
namespace {

constexpr std::uint64_t kSeeds = 100;
constexpr std::uint64_t kSalt = 9;

[[nodiscard]] SwarmShape diloco_shape(Chance& chance) { return shape_with_rounds(chance, 2); }

TEST(Rounds, AnUndisturbedRunAgreesOnEveryRound) {
  for_each_seed(kSeeds, [](std::uint64_t seed) {
    Chance chance(seed, kSalt);
    SimulatedSwarm swarm(diloco_shape(chance), seed);
    swarm.run();
    EXPECT_EQ(violations(swarm), "");
    std::size_t expected = 0;  // every contribution, those of the last rounds too
    for (std::uint64_t version = 1; version <= swarm.shape().steps; ++version) {
      expected += swarm.shape().stages * RoundSchedule(swarm.shape().sync).contributions_at(version).size();
    }
    std::size_t rounds = 0;
    for (const JournalEntry& entry : swarm.journal()) {
      const auto* round = std::get_if<CommitRound>(&entry.body);
      if (round == nullptr) continue;
      ++rounds;
      EXPECT_EQ(round->tokens_lost, 0U);
    }
    EXPECT_EQ(rounds, expected);
  });
}

// Two stages of two replicas that agree every three steps.
[[nodiscard]] SwarmShape agreeing_every_three(std::uint64_t steps, std::uint64_t checkpoint_every) {
  SwarmShape shape = shape_of(2, 2, checkpoint_every);
  shape.steps = steps;
  shape.sync.mode = SyncMode::kDiloco;
  shape.sync.H = 3;
  return shape;
}

TEST(Rounds, TheBytesOfARoundAreOfTheStepItFollows) {
  for_each_seed(kSeeds / 10, [](std::uint64_t seed) {
    const SwarmShape shape = agreeing_every_three(6, 0);
    SimulatedSwarm swarm(shape, seed);
    swarm.run();
    ASSERT_EQ(swarm.record().lines.size(), 6U);
    for (const StepRecord& line : swarm.record().lines) {
      EXPECT_EQ(line.bytes.value().reduce > 0, (line.step + 1) % 3 == 0) << "step " << line.step;
    }
  });
}

TEST(Rounds, FaultsAtAnyMomentHarmNone) {
  for_each_seed(kSeeds, [](std::uint64_t seed) {
    Chance chance(seed, kSalt);
    WatchedSwarm watched(diloco_shape(chance), seed);
    expect_harmless(watched, chance);
  });
}

// False: the run was over before it.
[[nodiscard]] bool run_to_commits(SimulatedSwarm& swarm, std::size_t count) {
  const auto is_there = [&] {
    const auto entries = swarm.journal();
    const auto is_commit = [](const JournalEntry& one) { return std::holds_alternative<Commit>(one.body); };
    return static_cast<std::size_t>(std::ranges::count_if(entries, is_commit)) >= count;
  };
  while (!is_there()) {
    if (!swarm.run_one()) return false;
  }
  return true;
}

// Commits that contributions follow while a stage had fewer members than this.
[[nodiscard]] std::size_t commits_below(std::size_t quorum, const SimulatedSwarm& swarm) {
  const RoundSchedule schedule(swarm.shape().sync);
  View view;
  std::size_t count = 0;
  for (const JournalEntry& entry : swarm.journal()) {
    if (const auto* commit = std::get_if<Commit>(&entry.body)) {
      bool is_below = false;
      for (std::uint32_t stage = 0; stage < swarm.shape().stages; ++stage) {
        is_below = is_below || view.replicas_of(StageId{stage}).size() < quorum;
      }
      if (is_below && !schedule.contributions_at(commit->step.value + 1).empty()) ++count;
    }
    view.apply(entry);
  }
  return count;
}

// Nodes die at any moment and come again: below the quorum nothing is contributed, and the run still ends.
TEST(Rounds, AQuorumHoldsARunUntilNodesCome) {
  std::size_t without = 0;
  const std::uint64_t ran = for_each_seed(kSeeds / 2, [&without](std::uint64_t seed) {
    for (const bool has_quorum : {true, false}) {
      Chance chance(seed, kSalt);
      SwarmShape shape = diloco_shape(chance);
      if (has_quorum) shape.sync.quorum = static_cast<int>(shape.replicas);
      SimulatedSwarm swarm(shape, seed);
      for (std::size_t kill_at = 1; kill_at < 10 && run_to_commits(swarm, kill_at); kill_at += 1 + chance.below(5)) {
        for (std::uint64_t letters = chance.below(300); letters > 0 && swarm.run_one(); --letters) continue;
        if (!swarm.record().end) kill_a_node(swarm, chance);
      }
      swarm.run();
      EXPECT_EQ(violations(swarm), "");
      const std::size_t below = commits_below(shape.replicas, swarm);
      EXPECT_TRUE(below == 0 || !has_quorum);
      if (!has_quorum) without += below;
    }
  });
  EXPECT_TRUE(without > 0 || ran < kSeeds / 2 || testing::Test::HasFailure()) << "the control: the faults do no harm";
}

// Microbatches that are named to be trained again, in the whole journal.
[[nodiscard]] std::size_t requeued_in(const SimulatedSwarm& swarm) {
  std::size_t count = 0;
  for (const JournalEntry& entry : swarm.journal()) {
    const auto* round = std::get_if<CommitRound>(&entry.body);
    if (round != nullptr) count += round->lost.size();
  }
  return count;
}

[[nodiscard]] std::uint64_t lost_in(const SimulatedSwarm& swarm) {
  std::uint64_t tokens = 0;
  for (const JournalEntry& entry : swarm.journal()) {
    const auto* round = std::get_if<CommitRound>(&entry.body);
    if (round != nullptr) tokens += round->tokens_lost;
  }
  return tokens;
}

// violations() compares what stage 0 was given in every step with what the manifests say was lost before it.
TEST(Rounds, WithRequeueLostWhatIsLostIsTrainedAgainAndNothingElse) {
  std::size_t requeued = 0;
  const std::uint64_t ran = for_each_seed(kSeeds, [&requeued](std::uint64_t seed) {
    Chance chance(seed, kSalt);
    SwarmShape shape = diloco_shape(chance);
    shape.sync.requeue_lost = true;
    WatchedSwarm watched(shape, seed);
    const std::string story = expect_harmless(watched, chance);
    EXPECT_EQ(requeued_in(watched.swarm) > 0, lost_in(watched.swarm) > 0) << story;
    requeued += requeued_in(watched.swarm);
  });
  EXPECT_TRUE(requeued > 0 || ran < kSeeds || testing::Test::HasFailure()) << "nothing was ever lost";
}

// The control: without the key losses change no plan, and the same oracle asks for what is not there.
TEST(Rounds, WithoutRequeueLostNothingIsTrainedAgain) {
  std::size_t with_losses = 0;
  const std::uint64_t ran = for_each_seed(kSeeds / 5, [&with_losses](std::uint64_t seed) {
    Chance chance(seed, kSalt);
    SwarmShape shape = diloco_shape(chance);
    shape.steps = 16;
    SimulatedSwarm swarm(shape, seed);
    ASSERT_TRUE(run_to_commits(swarm, 5));
    kill_a_node(swarm, chance);
    swarm.run();
    EXPECT_EQ(violations(swarm), "");
    EXPECT_EQ(requeued_in(swarm), 0U);
    if (lost_in(swarm) == 0) return;
    ++with_losses;
    EXPECT_FALSE(sample_violations(swarm, true).empty());
  });
  EXPECT_TRUE(with_losses > 0 || ran < kSeeds / 5 || testing::Test::HasFailure()) << "nothing was ever lost";
}

// A spawner that was started again reads out of the journal what it had queued, and so does a new data loader.
TEST(Rounds, WhatIsTrainedAgainSurvivesTheSpawnerAndTheDataLoader) {
  std::size_t requeued = 0;
  const std::uint64_t ran = for_each_seed(kSeeds / 5, [&requeued](std::uint64_t seed) {
    Chance chance(seed, kSalt);
    SwarmShape shape = agreeing_every_three(14, chance.below(2) == 0 ? 0 : 4);
    shape.sync.requeue_lost = true;
    SimulatedSwarm swarm(shape, seed);
    for (std::size_t kill_at = 2; requeued_in(swarm) == 0 && run_to_commits(swarm, kill_at); kill_at += 3) {
      kill_a_node(swarm, chance);
      (void)run_to_commits(swarm, kill_at + 2);
    }
    if (!swarm.record().end) {
      if (chance.below(2) == 0) {
        swarm.kill("spawner");
      } else {
        (void)swarm.kill_child("data_loader");
      }
    }
    swarm.run();
    EXPECT_EQ(violations(swarm), "");
    requeued += requeued_in(swarm);
  });
  EXPECT_TRUE(requeued > 0 || ran < kSeeds / 5 || testing::Test::HasFailure()) << "nothing was ever lost";
}

// Every node dies between the contributions of two rounds, after a checkpoint that lies between them, too: tokens
// trained from the first ones to the checkpoint are in no round, and counted as lost.
TEST(Rounds, ARollBackIntoTheMiddleOfARoundLosesItsStepsInTheBooks) {
  for_each_seed(kSeeds / 10, [](std::uint64_t seed) {
    SwarmShape shape = agreeing_every_three(12, 4);
    shape.sync.requeue_lost = true;
    shape.draws_bounds = false;  // in pieces the checkpoint would not be saved by then
    SimulatedSwarm swarm(shape, seed);
    ASSERT_TRUE(run_to_commits(swarm, 5));
    for (const std::string& node : nodes_of(swarm)) swarm.kill(node);
    swarm.run();
    EXPECT_EQ(violations(swarm), "");
    for (const JournalEntry& entry : swarm.journal()) {
      const auto* round = std::get_if<CommitRound>(&entry.body);
      if (round == nullptr || entry.branch == Branch{}) continue;
      EXPECT_EQ(round->tokens_lost, round->round.number == 2 ? FakeExecutor::kTokens * shape.microbatches : 0);
    }
    EXPECT_EQ(requeued_in(swarm), shape.microbatches) << "once, though both stages lose that step";
  });
}

// Rounds in flight are agreed at the end, before they are due. What goes on from there holds them, in every stage: a
// run that is resumed, and one that is thrown back to its last end.
TEST(Rounds, WhatTheEndOfARunAgreedOnIsHeldByWhateverBeginsThere) {
  std::size_t agreed_early = 0;
  const std::uint64_t ran = for_each_seed(kSeeds / 5, [&agreed_early](std::uint64_t seed) {
    Chance chance(seed, kSalt);
    SwarmShape shape = diloco_shape(chance);
    shape.checkpoint_every = 0;
    shape.steps = 5 + chance.below(4);
    shape.sync.requeue_lost = true;
    const std::uint64_t end = shape.steps;
    SimulatedSwarm swarm(shape, seed);
    swarm.run();
    ASSERT_EQ(violations(swarm), "");
    agreed_early += RoundSchedule(shape.sync).in_flight_after(end).size();
    swarm.resume(end + 8);
    if (chance.below(3) > 0) {
      ASSERT_TRUE(run_to_commits(swarm, end + 1 + chance.below(4)));
      for (const std::string& node : nodes_of(swarm)) swarm.kill(node);
    }
    swarm.run();
    EXPECT_EQ(violations(swarm), "");
  });
  EXPECT_TRUE(agreed_early > 0 || ran < kSeeds / 5 || testing::Test::HasFailure()) << "nothing was ever in flight";
}

// Returns what the reports of a step call approximated; nothing when one of its members did not report.
[[nodiscard]] std::optional<std::set<MicrobatchId>> reported(const SimulatedSwarm& swarm, const JournalEntry& entry) {
  const auto& commit = std::get<Commit>(entry.body);
  std::set<Incarnation> awaited;
  for (const StageCommit& stage : commit.stages) {
    for (const MemberManifest& manifest : stage.manifests) awaited.insert(manifest.member);
  }
  std::vector<ReplicaReport> reports;
  for (const ReplicaReport& report : swarm.record().reports) {
    if (report.branch != entry.branch || report.step != commit.step) continue;
    awaited.erase(report.replica);
    reports.push_back(report);
  }
  return awaited.empty() ? std::optional(approximated(commit, reports)) : std::nullopt;
}

// A stage that was zeroed computes again for replicas that keep what they have: no reply says so (P-16).
TEST(Rounds, CountsAsApproximatedWhatIsOfTwoPasses) {
  std::size_t mixed = 0;
  const std::uint64_t ran = for_each_seed(kSeeds, [&mixed](std::uint64_t seed) {
    Chance chance(seed, kSalt);
    SwarmShape shape = diloco_shape(chance);
    shape.stages = 3;
    const LetterWatch watch;
    shape.filter = watch.filter();
    SimulatedSwarm swarm(shape, seed);
    const std::string story = inflict_some(swarm, watch, chance);
    swarm.run();
    if (watch.seen("Zero") > 0) return;
    for (const JournalEntry& entry : swarm.journal()) {
      const auto* commit = std::get_if<Commit>(&entry.body);
      const auto told = commit == nullptr ? std::nullopt : reported(swarm, entry);
      if (!told) continue;
      const auto expected = mixed_passes(swarm, *commit);
      mixed += expected.size();
      EXPECT_EQ(*told, expected) << "step " << commit->step.value << ": " << story;
    }
  });
  EXPECT_TRUE(mixed > 0 || ran < kSeeds || testing::Test::HasFailure())
      << "nothing was ever replaced in the middle of a step";
}

}  // namespace
}  // namespace shoal::rounds_test
