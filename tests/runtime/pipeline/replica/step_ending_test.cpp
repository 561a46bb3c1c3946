// From a commit to the next step, with rounds and without.
#include "runtime/pipeline/replica/step_ending.h"

#include <gtest/gtest.h>

#include "tests/runtime/pipeline/replica/part_bench.h"
#include "tests/runtime/sync/diloco_config.h"

namespace shoal::step_ending_test {
namespace {

ReplicaSetup with_rounds() {
  ReplicaSetup setup = setup_of(kB0);
  setup.rounds = diloco(1);
  return setup;
}

// Applies a commit that these replicas save.
void apply(PartBench& bench, StepEnding& ending, const std::vector<Incarnation>& savers = {}) {
  StepCommitted committed;
  committed.commit.token_count = 40;
  committed.commit.checkpoint_by = savers;
  committed.update = UpdateOrder{0.1, 1, 1};
  bench.tell(ending, committed);
  ASSERT_NE(bench.job_as<ApplyJob>(), nullptr);
  EXPECT_TRUE(bench.job_as<ApplyJob>()->update);
  bench.complete(ending, Applied{9});
}

StepTrained trained() {
  StepTrained fact;
  fact.microbatches = 3;
  fact.retried = 1;
  return fact;
}

TEST(StepEnding, AppliesACommitAndTellsItsDigest) {
  PartBench bench;
  StepEnding ending;
  ASSERT_NO_FATAL_FAILURE(apply(bench, ending));
  const auto applied = bench.take_facts<StepApplied>();
  ASSERT_EQ(applied.size(), 1U);
  EXPECT_EQ(applied[0].state_digest, 9U);
  EXPECT_EQ(applied[0].commit.token_count, 40U);
}

TEST(StepEnding, ReportsTheStepAndEndsItAtOnceWithoutRounds) {
  PartBench bench;
  StepEnding ending;
  ASSERT_NO_FATAL_FAILURE(apply(bench, ending));
  bench.standing.state.digest = 9;
  bench.tell(ending, trained());
  const auto reports = bench.take_letters<ReplicaReport>();
  ASSERT_EQ(reports.size(), 1U);
  EXPECT_EQ(reports[0].microbatches, 3U);
  EXPECT_EQ(reports[0].retried, 1U);
  EXPECT_EQ(reports[0].state_digest, 9U);
  EXPECT_EQ(bench.take_facts<StepEnded>().size(), 1U);
}

// P-31: the digest is that of what all agree on, and the report's bytes are those of the step's rounds, too.
TEST(StepEnding, WaitsForTheBoundaryWithRounds) {
  PartBench bench(with_rounds());
  StepEnding ending;
  ASSERT_NO_FATAL_FAILURE(apply(bench, ending));
  bench.tell(ending, trained());
  EXPECT_TRUE(bench.take_facts<StepEnded>().empty());
  bench.standing.state.digest = 11;
  bench.tell(ending, BoundaryPassed{});
  EXPECT_EQ(bench.take_letters<ReplicaReport>().at(0).state_digest, 11U);
  EXPECT_EQ(bench.take_facts<StepEnded>().size(), 1U);
}

TEST(StepEnding, EndsNothingAtABoundaryWithoutACommit) {
  PartBench bench(with_rounds());
  StepEnding ending;
  bench.tell(ending, BoundaryPassed{});
  EXPECT_TRUE(bench.facts.empty());
  EXPECT_TRUE(bench.letters.empty());
}

TEST(StepEnding, BeginsTheNextStepWhenTheImageForACheckpointIsTaken) {
  for (const Incarnation saver : {kB0, kB1}) {
    PartBench bench;
    StepEnding ending;
    ASSERT_NO_FATAL_FAILURE(apply(bench, ending, {saver}));
    bench.tell(ending, trained());
    const auto ended = bench.take_facts<StepEnded>();
    ASSERT_EQ(ended.size(), 1U);
    bench.tell(ending, ended[0]);
    const bool saves = saver == kB0;
    EXPECT_EQ(bench.job_as<ImageJob>() != nullptr, saves);
    EXPECT_EQ(bench.take_facts<NextStep>().empty(), saves);
    if (!saves) continue;
    bench.complete(ending, Imaged{});
    EXPECT_EQ(bench.take_facts<NextStep>().size(), 1U);
  }
}

// An image for a joiner is taken between steps.
TEST(StepEnding, BeginsNothingWithAnImageForSomebodyElse) {
  PartBench bench;
  StepEnding ending;
  bench.tell(ending, Imaged{});
  EXPECT_TRUE(bench.facts.empty());
}

}  // namespace
}  // namespace shoal::step_ending_test
