// Rounds as a replica speaks of them: which orders are for it, and when the next step may begin. What a member answers:
// tests/runtime/sync/rounds.
#include "runtime/pipeline/replica/round_agreement.h"

#include <gtest/gtest.h>

#include <cstring>

#include "tests/runtime/pipeline/replica/part_bench.h"
#include "tests/runtime/sync/diloco_config.h"

namespace shoal::round_agreement_test {
namespace {

// One fragment, a round after every step.
ReplicaSetup with_rounds() {
  ReplicaSetup setup = setup_of(kB0);
  setup.rounds = diloco(1);
  return setup;
}

struct Bed {
  explicit Bed(const ReplicaSetup& setup = with_rounds()) : bench(setup), rounds(bench.standing.setup) {}

  [[nodiscard]] OrderId order(std::uint32_t counter) const {
    OrderId id = bench.order(counter, 1);
    id.round = RoundId{0, 1};
    return id;
  }
  void pursue() {
    rounds.pursue(bench.turn);
    bench.collect();
  }
  void train() {
    StepTrained trained;
    trained.own_tokens = trained.commit.token_count = 40;
    bench.tell(rounds, trained);
  }
  void contribute() {
    pursue();
    ASSERT_NE(bench.job_as<ContributeRoundJob>(), nullptr);
    const std::vector<float> values{1, 2, 3};
    auto bytes = std::make_shared<AlignedBuffer>(values.size() * sizeof(float));
    std::memcpy(bytes->data(), values.data(), values.size() * sizeof(float));
    bench.complete(rounds, RoundContributed{0, TensorBlob{DType::kFloat32, {3}, std::move(bytes)}});
  }

  PartBench bench;
  RoundAgreement rounds;
};

TEST(RoundAgreement, WithoutRoundsTakesEveryOrderForOneAsStale) {
  Bed bed(setup_of(kB0));
  bed.bench.tell(bed.rounds, Prepare{bed.order(1), {}});
  bed.bench.tell(bed.rounds, Reduce{bed.order(1), {kB0}, 40});
  bed.bench.tell(bed.rounds, Progress{bed.order(1), kB0, 0, 1});
  EXPECT_EQ(bed.rounds.stale_orders(), 3U);
  bed.train();
  bed.pursue();
  EXPECT_TRUE(bed.bench.letters.empty());
  EXPECT_TRUE(bed.bench.facts.empty());
  EXPECT_FALSE(bed.rounds.is_at_boundary());
}

TEST(RoundAgreement, HoldsTheBoundaryUntilTheRoundIsAgreedAndApplied) {
  Bed bed;
  bed.pursue();
  EXPECT_EQ(bed.bench.take_facts<BoundaryPassed>().size(), 1U) << "no step is applied";
  bed.bench.facts.clear();
  bed.train();
  EXPECT_TRUE(bed.rounds.is_at_boundary());
  ASSERT_NO_FATAL_FAILURE(bed.contribute());
  bed.pursue();
  EXPECT_TRUE(bed.bench.facts.empty());

  bed.bench.tell(bed.rounds, Prepare{bed.order(1), {}});
  EXPECT_EQ(bed.bench.take_letters<Manifest>().at(0).share_tokens, 40U);
  bed.bench.tell(bed.rounds, Reduce{bed.order(1), {kB0}, 40});
  const auto reduced = bed.bench.take_letters<Reduced>();
  ASSERT_EQ(reduced.size(), 1U);
  bed.bench.tell(
      bed.rounds,
      CommitRound{StageId{1}, StepId{1}, RoundId{0, 1}, Epoch{kGroup, 1}, reduced[0].digest, {{kB0, 40}}, 0});
  bed.pursue();
  ASSERT_NE(bed.bench.job_as<ApplyRoundJob>(), nullptr);
  EXPECT_TRUE(bed.rounds.is_at_boundary());
  bed.bench.complete(bed.rounds, RoundApplied{9});
  EXPECT_EQ(bed.bench.take_facts<StateChanged>().at(0).digest, 9U);
  EXPECT_FALSE(bed.rounds.is_at_boundary());
  bed.pursue();
  EXPECT_EQ(bed.bench.take_facts<BoundaryPassed>().size(), 1U);
  EXPECT_EQ(bed.bench.take_facts<StateAtRest>().size(), 1U);
}

// It joins at version 1, for the mean of the round that is contributed to there.
TEST(RoundAgreement, P25aAnswersAfterTheOwnAddTheNewestOrderFromBefore) {
  ReplicaSetup setup = with_rounds();
  setup.version = 1;
  Bed bed(setup);
  bed.bench.standing.membership = Membership::kReady;
  for (const std::uint32_t counter : {1U, 2U}) bed.bench.tell(bed.rounds, Prepare{bed.order(counter), {}});
  EXPECT_EQ(bed.rounds.stale_orders(), 0U);
  EXPECT_TRUE(bed.bench.letters.empty());
  bed.bench.standing.membership = Membership::kMember;
  bed.bench.tell(bed.rounds, ReplicaAdmitted{});
  ASSERT_NO_FATAL_FAILURE(bed.contribute());
  const auto manifests = bed.bench.take_letters<Manifest>();
  ASSERT_EQ(manifests.size(), 1U);
  EXPECT_EQ(manifests[0].order, bed.order(2));
  EXPECT_EQ(manifests[0].share_tokens, 0U) << "it has trained on nothing";
}

TEST(RoundAgreement, P25aAnswersForEveryRoundInFlightHoweverManyFragmentsThereAre) {
  constexpr std::uint64_t kFragments = 300;
  ReplicaSetup setup = setup_of(kB0);
  setup.rounds = diloco(kFragments, kFragments, 0, OuterUpdate::kDelayed);
  setup.version = kFragments;
  const RoundSchedule schedule(*setup.rounds);
  Bed bed(setup);
  bed.bench.standing.membership = Membership::kReady;
  for (const RoundId& round : schedule.in_flight_after(kFragments)) {
    OrderId order = bed.bench.order(1, schedule.contribution_version(round));
    order.round = round;
    bed.bench.tell(bed.rounds, Prepare{order, {}});
  }
  bed.bench.standing.membership = Membership::kMember;
  bed.bench.tell(bed.rounds, ReplicaAdmitted{});
  for (std::uint64_t count = 0; count < kFragments; ++count) ASSERT_NO_FATAL_FAILURE(bed.contribute());
  EXPECT_EQ(bed.bench.take_letters<Manifest>().size(), kFragments);
}

TEST(RoundAgreement, EndsAtTheEntryOfARoundThatItHasNoMeanOf) {
  Bed bed;
  const CommitRound entry{StageId{1}, StepId{1}, RoundId{0, 1}, Epoch{kGroup, 1}, 5, {{kB0, 40}}, 0};
  CommitRound of_another = entry;
  of_another.stage = StageId{0};
  bed.bench.tell(bed.rounds, of_another);
  EXPECT_FALSE(bed.bench.ended);
  bed.bench.tell(bed.rounds, entry);
  EXPECT_TRUE(bed.bench.ended);
}

TEST(RoundAgreement, PassesOverWhatWasAgreedBeforeItIsAMember) {
  Bed bed;
  bed.bench.standing.membership = Membership::kReady;
  bed.bench.tell(bed.rounds, CommitRound{StageId{1}, StepId{1}, RoundId{0, 1}, Epoch{kGroup, 1}, 5, {{kB1, 40}}, 0});
  EXPECT_FALSE(bed.bench.ended);
}

}  // namespace
}  // namespace shoal::round_agreement_test
