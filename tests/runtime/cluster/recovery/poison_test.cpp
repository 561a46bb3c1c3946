// Two different replicas of a stage over one microbatch, and nothing less: who is suspected, quarantined, forgotten.
#include "runtime/cluster/recovery/poison.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace shoal::poison_test {
namespace {

using Kind = PoisonVerdict::Kind;

constexpr std::uint32_t kMicrobatches = 4;
constexpr StageId kStage{1};

// A watch beside the journal that its verdicts go into.
class Bench {
 public:
  explicit Bench(std::uint32_t microbatches = kMicrobatches) : watch(microbatches) {
    append(AddReplica{kStage, {}, Incarnation{1}, {}, 0});
  }
  void append(JournalBody body) {
    view.apply({JournalPosition{view.position().value + 1}, view.branch(), Term{1}, std::move(body)});
  }
  std::optional<PoisonVerdict> ended(std::uint64_t replica, std::uint64_t step, std::uint32_t microbatch,
                                     StageId stage = kStage) {
    const ComputedMicrobatch work{StepId{step}, MicrobatchId{microbatch}};
    auto verdict = watch.ended(stage, Incarnation{replica}, work, view);
    if (verdict && verdict->kind == Kind::kQuarantine) append(Quarantine{work.step, work.microbatch, verdict->reason});
    return verdict;
  }
  void commit() {
    Commit commit;
    commit.step = StepId{view.committed_steps()};
    append(commit);
    watch.committed(commit.step);
  }

  PoisonWatch watch;
  View view;
};

TEST(Poison, TwoReplicasOfAStageOverOneMicrobatchMakeAQuarantine) {
  Bench bench;
  const auto first = bench.ended(11, 0, 3);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->kind, Kind::kSuspected);
  const auto second = bench.ended(12, 0, 3);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->kind, Kind::kQuarantine);
  EXPECT_EQ(second->reason, "replicas 11 and 12 of stage 1 ended while they computed microbatch 3 of step 0");
  EXPECT_FALSE(bench.ended(13, 0, 3)) << "it is quarantined";
}

TEST(Poison, OneReplicaTwiceIsNoEvidence) {
  Bench bench;
  EXPECT_TRUE(bench.ended(11, 0, 3));
  EXPECT_FALSE(bench.ended(11, 0, 3)) << "its successor said so again";
  EXPECT_TRUE(bench.view.quarantined().empty());
}

TEST(Poison, OtherMicrobatchesStepsAndStagesAreOthers) {
  Bench bench;
  (void)bench.ended(11, 0, 3);
  EXPECT_EQ(bench.ended(12, 0, 2)->kind, Kind::kSuspected);
  EXPECT_EQ(bench.ended(13, 1, 3)->kind, Kind::kSuspected);
  EXPECT_EQ(bench.ended(14, 0, 3, StageId{0})->kind, Kind::kSuspected);
}

TEST(Poison, ACommitClearsWhatWasSuspectedInItsStep) {
  Bench bench;
  (void)bench.ended(11, 0, 3);
  (void)bench.ended(12, 5, 3);  // on a branch that had come further
  bench.commit();
  EXPECT_EQ(bench.watch.suspect_count(), 1U);
  EXPECT_FALSE(bench.ended(13, 0, 3)) << "and nothing is changed that is committed";
  EXPECT_EQ(bench.ended(14, 5, 3)->kind, Kind::kQuarantine) << "what was known of a later step is kept";
}

TEST(Poison, MicrobatchesOutsideThePlanAreNoEvidence) {
  Bench bench;
  EXPECT_FALSE(bench.ended(11, 0, kMicrobatches));
}

TEST(Poison, AStepKeepsOneMicrobatch) {
  Bench bench(2);
  (void)bench.ended(11, 0, 0);
  EXPECT_EQ(bench.ended(12, 0, 0)->kind, Kind::kQuarantine);
  (void)bench.ended(13, 0, 1);
  EXPECT_EQ(bench.ended(14, 0, 1)->kind, Kind::kHopeless);
}

TEST(Poison, SoManyAreTheProgramsFault) {
  Bench bench;
  for (std::uint64_t step = 0; step < PoisonWatch::kQuarantinedMax; ++step) {
    (void)bench.ended(11, step, 0);
    EXPECT_EQ(bench.ended(12, step, 0)->kind, Kind::kQuarantine);
  }
  (void)bench.ended(11, 1000, 0);
  EXPECT_EQ(bench.ended(12, 1000, 0)->kind, Kind::kHopeless);
}

TEST(Poison, RemembersBoundedlyMany) {
  Bench bench;
  for (std::uint64_t step = 0; step < 2 * PoisonWatch::kSuspectsMax; ++step) (void)bench.ended(11, step, 0);
  EXPECT_EQ(bench.watch.suspect_count(), PoisonWatch::kSuspectsMax);
  EXPECT_EQ(bench.ended(12, 0, 0)->kind, Kind::kQuarantine) << "the step in progress is the last to be forgotten";
}

// Against the definition, over the whole history: a microbatch is quarantined exactly when two replicas of one stage
// have ended over it since its step was committed last.
TEST(Poison, AgreesWithItsDefinition) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  Bench bench(64);
  std::map<std::tuple<std::uint64_t, std::uint32_t, std::uint32_t>, std::set<std::uint64_t>> ends;
  std::set<std::pair<std::uint64_t, std::uint32_t>> expected;
  for (int event = 0; event < 3000 && expected.size() < PoisonWatch::kQuarantinedMax; ++event) {
    if (random() % 20 == 0) {
      bench.commit();
      continue;
    }
    const std::uint64_t step = bench.view.committed_steps() + random() % 3;
    const auto microbatch = static_cast<std::uint32_t>(random() % 8);
    const StageId stage{static_cast<std::uint32_t>(random() % 2)};
    const std::uint64_t replica = 1 + random() % 5;
    const auto verdict = bench.ended(replica, step, microbatch, stage);
    auto& over_it = ends[{step, microbatch, stage.value}];
    over_it.insert(replica);
    const bool is_new = over_it.size() >= 2 && expected.emplace(step, microbatch).second;
    ASSERT_EQ(verdict && verdict->kind == Kind::kQuarantine, is_new) << "event " << event;
    ASSERT_EQ(bench.view.quarantines().contains(StepId{step}, MicrobatchId{microbatch}),
              expected.contains({step, microbatch}));
  }
  EXPECT_GT(expected.size(), 10U);
}

}  // namespace
}  // namespace shoal::poison_test
