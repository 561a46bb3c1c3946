// The agreement on a step's sum, alone: orders of the group come in, facts for the other parts and letters come out.
#include "runtime/pipeline/replica/step_agreement.h"

#include <gtest/gtest.h>

#include "tests/runtime/pipeline/replica/part_bench.h"
#include "tests/runtime/sync/diloco_config.h"

namespace shoal::step_agreement_test {
namespace {

struct Bed {
  explicit Bed(const ReplicaSetup& setup = setup_of(kB0)) : bench(setup) {}

  template <class Heard>
  void tell(const Heard& heard) {
    bench.tell(step, heard);
    for (const EpochEntered& entered : bench.take_facts<EpochEntered>()) bench.standing.hear(entered);
    for (const SumAdopted& adopted : bench.take_facts<SumAdopted>()) bench.standing.hear(adopted);
  }
  // Plays the frame and the data between a Prepare and its manifest.
  void freeze(std::uint32_t counter, std::vector<ManifestEntry> entries = {{MicrobatchId{2}, 10, 1.5, {}}}) {
    tell(Prepare{bench.order(counter), {}});
    const auto wanted = bench.take_facts<FreezeWanted>();
    ASSERT_EQ(wanted.size(), 1U);
    tell(ManifestMade{wanted[0], std::move(entries)});
  }
  void reduce_alone(std::uint32_t counter) {
    tell(Reduce{bench.order(counter), {kB0}, 40});
    ASSERT_NE(bench.job_as<ContributeJob>(), nullptr);
    bench.turn.complete(bench.turn.now());
    bench.job.reset();
    tell(Contributed{values()});
  }
  void adopt() {
    ASSERT_NE(bench.job_as<AdoptJob>(), nullptr);
    bench.turn.complete(bench.turn.now());
    bench.job.reset();
    tell(Adopted{ReducedSum{77, {{"w", 4.0}}}});
  }
  [[nodiscard]] static TensorBlob values() { return FakeExecutor::input_of(1, StepId{0}, MicrobatchId{0}); }
  [[nodiscard]] static Commit commit(std::uint32_t counter) {
    Commit entry;
    entry.stages.push_back({StageId{1}, Epoch{kGroup, counter}, 77, {}});
    entry.token_count = 40;
    entry.learning_rate = 0.1;
    entry.clip_scale = 0.5;
    entry.optimizer_step = 1;
    return entry;
  }

  PartBench bench;
  StepAgreement step;
};

TEST(StepAgreement, OpensEmptiesAndFreezesByFacts) {
  Bed bed;
  bed.tell(Open{bed.bench.order(1)});
  EXPECT_EQ(bed.bench.take_facts<StepOpened>().size(), 1U);
  EXPECT_EQ(bed.bench.standing.phase, Phase::kOpen);
  bed.freeze(2);
  EXPECT_EQ(bed.bench.standing.phase, Phase::kFrozen);
  EXPECT_EQ(bed.bench.standing.epoch, (Epoch{kGroup, 2}));
  bed.tell(Zero{bed.bench.order(3)});
  EXPECT_EQ(bed.bench.take_facts<StepZeroed>().size(), 1U);
  EXPECT_EQ(bed.bench.standing.phase, Phase::kOpen);
}

TEST(StepAgreement, P15AnswersARepeatAndExecutesItNoMore) {
  Bed bed;
  bed.tell(Zero{bed.bench.order(1)});
  bed.tell(Zero{bed.bench.order(1)});
  EXPECT_EQ(bed.bench.take_facts<StepZeroed>().size(), 1U);
  EXPECT_EQ(bed.bench.take_facts<ProgressWanted>().size(), 1U);
  bed.freeze(2);
  bed.tell(Prepare{bed.bench.order(2), {}});
  EXPECT_TRUE(bed.bench.take_facts<FreezeWanted>().empty());
  const auto manifests = bed.bench.take_letters<Manifest>();
  ASSERT_EQ(manifests.size(), 2U);
  EXPECT_EQ(manifests[0], manifests[1]);
}

TEST(StepAgreement, P16bAsksForAnEmptyStepWhereAZeroWasMissed) {
  Bed bed;
  bed.tell(Open{bed.bench.order(1)});
  bed.tell(Prepare{bed.bench.order(3), Epoch{kGroup, 2}});
  const auto wanted = bed.bench.take_facts<FreezeWanted>();
  ASSERT_EQ(wanted.size(), 1U);
  EXPECT_TRUE(wanted[0].has_missed_a_zero);
  bed.tell(ManifestMade{wanted[0], {}});
  EXPECT_NE(bed.bench.job_as<ZeroJob>(), nullptr);
}

TEST(StepAgreement, P18IsReducedWhenItHoldsTheWholeSum) {
  Bed bed;
  bed.freeze(1);
  bed.reduce_alone(1);
  ASSERT_NE(bed.bench.job_as<AdoptJob>(), nullptr);
  EXPECT_EQ(bed.bench.job_as<AdoptJob>()->token_count, 40U);
  EXPECT_TRUE(bed.bench.take_letters<Reduced>().empty());
  bed.adopt();
  EXPECT_EQ(bed.bench.standing.phase, Phase::kReduced);
  bed.tell(Reduce{bed.bench.order(1), {kB0}, 40});
  EXPECT_EQ(bed.bench.job_as<ContributeJob>(), nullptr);
  const auto reduced = bed.bench.take_letters<Reduced>();
  ASSERT_EQ(reduced.size(), 2U) << "the repeat is answered";
  EXPECT_EQ(reduced[0].digest, 77U);
  EXPECT_EQ(reduced[0], reduced[1]);
}

TEST(StepAgreement, ReducesNothingThatWasNotPrepared) {
  Bed bed;
  bed.tell(Open{bed.bench.order(1)});
  bed.tell(Reduce{bed.bench.order(1), {kB0}, 40});
  bed.freeze(2);
  bed.tell(Reduce{bed.bench.order(1), {kB0}, 40});  // of an epoch that is over
  bed.tell(Reduce{bed.bench.order(2), {kB1}, 40});  // without this member
  EXPECT_EQ(bed.bench.job_as<ContributeJob>(), nullptr);
  EXPECT_EQ(bed.step.stale_orders(), 3U);
}

TEST(StepAgreement, HoldsPartsThatComeBeforeTheirReduceUntilAnEpochIsOver) {
  Bed bed;
  bed.freeze(1);
  bed.tell(Part{bed.bench.order(1), kB1, 0, 0, Bed::values()});
  EXPECT_EQ(bed.step.early_parts(), 1U);
  bed.tell(Open{bed.bench.order(2)});
  EXPECT_EQ(bed.step.early_parts(), 0U);
  bed.tell(Part{bed.bench.order(1), kB1, 0, 0, Bed::values()});
  EXPECT_EQ(bed.step.stale_orders(), 1U);
}

TEST(StepAgreement, P23TellsACommitOfItsSumWithTheUpdate) {
  Bed bed;
  bed.freeze(1);
  bed.reduce_alone(1);
  bed.adopt();
  bed.tell(Bed::commit(1));
  const auto committed = bed.bench.take_facts<StepCommitted>();
  ASSERT_EQ(committed.size(), 1U);
  EXPECT_EQ(committed[0].sum, Bed::values());
  ASSERT_TRUE(committed[0].update);
  EXPECT_EQ(committed[0].update->clip_scale, 0.5);
  EXPECT_FALSE(bed.bench.ended);
}

TEST(StepAgreement, P24EndsAtACommitOfASumThatItDoesNotHold) {
  for (const bool is_frozen : {true, false}) {
    Bed bed;
    if (is_frozen) bed.freeze(1);
    bed.tell(Bed::commit(1));
    EXPECT_TRUE(bed.bench.ended);
    EXPECT_TRUE(bed.bench.take_facts<StepCommitted>().empty());
  }
}

TEST(StepAgreement, P22bAppliesNothingOfASkippedStep) {
  Bed bed;
  Commit skipped = Bed::commit(1);
  skipped.skip = SkipStep{"w", MicrobatchId{0}};
  bed.tell(skipped);
  const auto committed = bed.bench.take_facts<StepCommitted>();
  ASSERT_EQ(committed.size(), 1U);
  EXPECT_FALSE(committed[0].update);
  EXPECT_FALSE(committed[0].sum.has_value());
}

// P-31: over its own tokens, clipped by its own norm: min(1, 1 / (2 + 1e-6)).
TEST(StepAgreement, P31AdoptsItsOwnSumWhereThereAreRounds) {
  ReplicaSetup setup = setup_of(kB0);
  setup.rounds = diloco(4);
  setup.clip_norm = 1;
  Bed bed(setup);
  bed.freeze(1);
  bed.reduce_alone(1);
  ASSERT_NE(bed.bench.job_as<AdoptJob>(), nullptr);
  EXPECT_EQ(bed.bench.job_as<AdoptJob>()->token_count, 10U);
  bed.adopt();
  bed.tell(Bed::commit(1));
  const auto committed = bed.bench.take_facts<StepCommitted>();
  ASSERT_EQ(committed.size(), 1U);
  EXPECT_FALSE(committed[0].sum.has_value()) << "it is nobody else's";
  ASSERT_TRUE(committed[0].update);
  EXPECT_NEAR(committed[0].update->clip_scale, 0.5, 1e-6);
}

TEST(StepAgreement, P25aJudgesAnEarlyOrderAgainWhenTheNextStepBegins) {
  Bed bed;
  bed.tell(Open{bed.bench.order(1, 1)});
  EXPECT_TRUE(bed.bench.take_facts<StepOpened>().empty());
  bed.tell(StepEnded{});
  bed.bench.standing.state.version = 1;
  bed.tell(NextStep{});
  EXPECT_EQ(bed.bench.take_facts<StepOpened>().size(), 1U);
}

}  // namespace
}  // namespace shoal::step_agreement_test
