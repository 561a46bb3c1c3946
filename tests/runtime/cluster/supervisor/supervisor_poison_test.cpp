// SupervisorCore and the microbatch that ends whoever computes it: when it is quarantined, what that voids, and that it
// holds over roll-backs and restarts.
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/base/restart_policy.h"
#include "tests/support/supervisor_bench.h"

namespace shoal::supervisor_poison_test {
namespace {

using std::chrono::seconds;
using Phase = SupervisorCore::Phase;

constexpr ComputedMicrobatch kPoison{StepId{0}, MicrobatchId{3}};

SupervisorConfig run_of(std::uint32_t replicas = 2) {
  SupervisorConfig config = two_by_two();
  config.replicas = replicas;
  config.microbatches = 4;
  return config;
}

void train(SupervisorBench& bench, std::uint64_t workers) {
  for (std::uint64_t number = 1; number <= workers; ++number) bench.join(number);
  bench.ready();
}

Incarnation member(const SupervisorBench& bench, std::uint32_t stage, std::size_t index = 0) {
  return bench.core.view().replicas_of(StageId{stage}).at(index).incarnation;
}

void end_over_it(SupervisorBench& bench, std::uint32_t stage, Incarnation replica) {
  bench.hear(StageEnded{StageId{stage}, replica, "a bug", kPoison});
}

std::vector<Quarantine> quarantines_in(const SupervisorBench& bench) {
  std::vector<Quarantine> found;
  for (const JournalEntry& entry : bench.entries) {
    if (const auto* quarantine = std::get_if<Quarantine>(&entry.body)) found.push_back(*quarantine);
  }
  return found;
}

TEST(SupervisorPoison, TheSecondReplicaMakesItAnEntryAndAnEvent) {
  SupervisorBench bench(run_of(3));
  train(bench, 6);
  const Incarnation first = member(bench, 1, 0);
  const Incarnation second = member(bench, 1, 1);
  end_over_it(bench, 1, first);
  EXPECT_TRUE(bench.has_event(RunEventKind::kMicrobatchSuspected));
  EXPECT_TRUE(quarantines_in(bench).empty());
  end_over_it(bench, 1, second);
  const auto found = quarantines_in(bench);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].step, kPoison.step);
  EXPECT_EQ(found[0].microbatch, kPoison.microbatch);
  EXPECT_TRUE(bench.has_event(RunEventKind::kMicrobatchQuarantined));
  EXPECT_EQ(bench.core.phase(), Phase::kTraining) << "a third replica is there";
  EXPECT_NE(bench.core.explain_waiting(bench.now).find("microbatches in quarantine: 1"), std::string::npos);
}

TEST(SupervisorPoison, ReplicasThatEndOverOthersOrOverNothingMakeNone) {
  SupervisorBench bench(run_of(3));
  train(bench, 6);
  const Incarnation first = member(bench, 1, 0);
  const Incarnation second = member(bench, 1, 1);
  end_over_it(bench, 1, first);
  bench.hear(StageEnded{StageId{1}, second, "a bug", {}});
  end_over_it(bench, 0, member(bench, 0));
  EXPECT_TRUE(quarantines_in(bench).empty());
}

TEST(SupervisorPoison, VotesFromBeforeItAreVoid) {  // P-22: the step is another one
  SupervisorBench bench(run_of(3));
  train(bench, 6);
  const Prepared before = bench.vote_of(0);
  bench.hear(before);
  const Incarnation first = member(bench, 1, 0);
  const Incarnation second = member(bench, 1, 1);
  end_over_it(bench, 1, first);
  end_over_it(bench, 1, second);
  bench.hear(bench.vote_of(1));
  EXPECT_EQ(bench.core.view().committed_steps(), 0U) << "the sum of stage 0 has it";
  bench.hear(before);
  EXPECT_EQ(bench.core.view().committed_steps(), 0U);
  bench.hear(bench.vote_of(0));
  EXPECT_EQ(bench.core.view().committed_steps(), 1U);
}

// With two replicas the second end takes the stage's last one: the entry comes before the roll-back, and holds in the
// branch after it.
TEST(SupervisorPoison, HoldsOverTheRollBackThatItBringsAbout) {
  SupervisorBench bench(run_of());
  train(bench, 4);
  const Incarnation first = member(bench, 1, 0);
  const Incarnation second = member(bench, 1, 1);
  end_over_it(bench, 1, first);
  end_over_it(bench, 1, second);
  ASSERT_EQ(quarantines_in(bench).size(), 1U);
  bench.later(seconds(1));
  EXPECT_EQ(bench.core.phase(), Phase::kSpawning);
  bench.ready();
  EXPECT_EQ(bench.core.phase(), Phase::kTraining);
  EXPECT_EQ(bench.core.view().branch(), Branch{1});
  EXPECT_TRUE(bench.core.view().quarantined().contains(kPoison.microbatch));
}

// One replica per stage: every end is a roll-back, and what was known before it counts.
TEST(SupervisorPoison, WithOneReplicaTheOneThatIsStartedAgainCounts) {
  SupervisorBench bench(run_of(1));
  train(bench, 2);
  end_over_it(bench, 1, member(bench, 1));
  EXPECT_TRUE(quarantines_in(bench).empty());
  bench.later(seconds(1));
  bench.ready();
  ASSERT_EQ(bench.core.phase(), Phase::kTraining);
  end_over_it(bench, 1, member(bench, 1));
  EXPECT_EQ(quarantines_in(bench).size(), 1U);
}

// The process is gone; its successor says what it left behind, before or after the stage has rolled back.
TEST(SupervisorPoison, CrashedProcessesAreToldOfByTheirSuccessors) {
  SupervisorBench bench(run_of());
  train(bench, 4);
  const ReplicaMember first = bench.core.view().replicas_of(StageId{1})[0];
  const ReplicaMember second = bench.core.view().replicas_of(StageId{1})[1];
  bench.lose(first.process);
  bench.lose(second.process);
  EXPECT_EQ(bench.core.phase(), Phase::kGathering);
  bench.join(11);
  end_over_it(bench, 1, first.incarnation);
  bench.join(12);
  end_over_it(bench, 1, second.incarnation);
  end_over_it(bench, 1, second.incarnation);  // with the start of its stage
  EXPECT_EQ(quarantines_in(bench).size(), 1U);
  bench.ready();
  EXPECT_EQ(bench.core.phase(), Phase::kTraining);
  EXPECT_EQ(bench.core.view().branch(), Branch{1});
  EXPECT_TRUE(bench.core.view().quarantined().contains(kPoison.microbatch));
  EXPECT_FALSE(bench.has_event(RunEventKind::kStageEnded)) << "they were lost with their processes";
}

TEST(SupervisorPoison, HoldsAfterARestartOfTheSpawner) {
  SupervisorBench before(run_of(3));
  train(before, 6);
  const Incarnation first = member(before, 1, 0);
  const Incarnation second = member(before, 1, 1);
  end_over_it(before, 1, first);
  end_over_it(before, 1, second);
  SupervisorConfig config = run_of(3);
  config.term = Term{2};
  config.return_within = seconds(10);
  SupervisorBench bench(config, before.entries);
  EXPECT_TRUE(bench.core.view().quarantined().contains(kPoison.microbatch));
}

TEST(SupervisorPoison, ARunWithoutAnyMicrobatchLeftIsOver) {
  SupervisorConfig config = run_of(3);
  config.microbatches = 1;
  SupervisorBench bench(config);
  train(bench, 6);
  const Incarnation first = member(bench, 1, 0);
  const Incarnation second = member(bench, 1, 1);
  const ComputedMicrobatch only{StepId{0}, MicrobatchId{0}};
  bench.hear(StageEnded{StageId{1}, first, "a bug", only});
  bench.hear(StageEnded{StageId{1}, second, "a bug", only});
  EXPECT_TRUE(bench.has_event(RunEventKind::kFailed));
  const auto orders = bench.all<EndProcess>();
  ASSERT_FALSE(orders.empty());
  for (const EndProcess& order : orders) EXPECT_EQ(order.exit_status, std::uint32_t{kGivenUpStatus});
  bench.join(7);
  EXPECT_EQ(bench.all<JoinRefused>().back().reason, JoinRefusal::kRunIsOver);
  EXPECT_EQ(bench.exit_status(), kGivenUpStatus);
}

}  // namespace
}  // namespace shoal::supervisor_poison_test
