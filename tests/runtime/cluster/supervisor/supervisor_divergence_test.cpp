// The end of a run that diverges: what can be used of its last state is saved, what cannot pushes out nothing good.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "runtime/journal/divergence.h"
#include "tests/support/supervisor_bench.h"

namespace shoal::supervisor_divergence_test {
namespace {

using std::chrono::seconds;
using testing::EndsWith;
using Phase = SupervisorCore::Phase;

constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();

Commit skipped(double loss_sum) {
  Commit commit;
  commit.skip = SkipStep{"wte.weight", MicrobatchId{0}};
  commit.loss_sum = loss_sum;
  commit.token_count = 1;
  return commit;
}

TEST(Divergence, TenSkippedStepsInARowAndNoFewer) {
  EXPECT_FALSE(divergence_in(skipped(1), kSkipsMax - 2, {}));
  EXPECT_TRUE(divergence_in(skipped(1), kSkipsMax - 1, {}));
  EXPECT_FALSE(divergence_in(Commit{}, kSkipsMax - 1, {})) << "this one is applied";
}

TEST(Divergence, IsSavedUnlessNothingCanBeMadeOfItOrAGoodOneWouldGo) {
  const auto is_saved = [](double loss_sum, const CheckpointsKept& kept) {
    return divergence_in(skipped(loss_sum), kSkipsMax, kept)->is_saved;
  };
  EXPECT_TRUE(is_saved(1, {20, false, false}));
  EXPECT_TRUE(is_saved(1, {0, true, false})) << "there is none to push out";
  EXPECT_FALSE(is_saved(1, {20, true, false}));
  EXPECT_FALSE(is_saved(1, {20, false, true}));
  EXPECT_FALSE(is_saved(kNotANumber, {20, false, false}));
  EXPECT_FALSE(is_saved(std::numeric_limits<double>::infinity(), {20, false, false}));
  EXPECT_FALSE(is_saved(1000, {20, false, false})) << "nats per token: its perplexity is beyond all numbers";
}

TEST(Divergence, TheNewestCheckpointIsNamedAndWhetherItIsAnyBetter) {
  const auto reason = [](std::uint64_t newest, bool has_rounds = false) {
    Commit commit = skipped(kNotANumber);
    commit.step = StepId{29};  // the tenth in a row: 20 steps were applied
    return divergence_in(commit, kSkipsMax - 1, {newest, false, has_rounds})->reason;
  };
  EXPECT_THAT(reason(0), EndsWith("there is no checkpoint"));
  EXPECT_THAT(reason(19), EndsWith("the newest checkpoint is of step 19"));
  for (const std::uint64_t newest : {20U, 25U})
    EXPECT_THAT(reason(newest), EndsWith("the very state that diverged: a good one, if any is left, is older"));
  EXPECT_THAT(reason(20, true), EndsWith("the newest checkpoint is of step 20")) << "rounds went on meanwhile";
}

// Two by two, with storage, trained for some steps, then only skipped ones follow.
struct Diverging : SupervisorBench {
  explicit Diverging(SupervisorConfig config) : SupervisorBench(std::move(config)) {
    join(8, ProcessRole::kStorage);
    train();
    for (int count = 0; count < 3; ++count) step();
  }
  static SupervisorConfig usual(std::uint64_t checkpoint_every = 0) {
    SupervisorConfig config = two_by_two();
    config.steps_target = 100;
    config.checkpoint_every = checkpoint_every;
    return config;
  }
  void skip(double loss_sum) {
    for (const std::uint32_t stage : {0U, 1U}) {
      Prepared vote = vote_of(stage, true);
      for (auto& manifest : vote.manifests) manifest.entries[0].loss_sum = loss_sum;
      hear(vote);
    }
  }
  void diverge(double loss_sum) {
    for (int count = 0; count < kSkipsMax; ++count) skip(loss_sum);
  }
  [[nodiscard]] std::string last_reason() const { return all<RunEvent>().back().reason; }
};

TEST(SupervisorDivergence, TheStateBeforeTheSkippedStepsIsSavedAndTheRunEndsWith5) {
  Diverging bench(Diverging::usual());
  bench.diverge(1);
  EXPECT_EQ(bench.core.view().committed_steps(), 13U);
  EXPECT_TRUE(bench.last_commit().is_last);
  EXPECT_EQ(bench.last_commit().checkpoint_by.size(), 2U);
  EXPECT_EQ(bench.core.phase(), Phase::kTraining) << "until it is saved";
  bench.saved(13);
  EXPECT_EQ(bench.exit_status(), 5);
  EXPECT_TRUE(bench.has_event(RunEventKind::kFailed));
  EXPECT_FALSE(bench.has_event(RunEventKind::kStopped));
  EXPECT_NE(bench.last_reason().find("the state before them is saved"), std::string::npos) << bench.last_reason();
}

TEST(SupervisorDivergence, AStateWithoutAFinitePerplexityIsNotSavedAndTheRunEndsAtOnce) {
  Diverging bench(Diverging::usual());
  bench.diverge(kNotANumber);
  EXPECT_FALSE(bench.last_commit().is_last);
  EXPECT_TRUE(bench.last_commit().checkpoint_by.empty());
  EXPECT_EQ(bench.exit_status(), 5);
  EXPECT_NE(bench.last_reason().find("there is no checkpoint"), std::string::npos) << bench.last_reason();
}

TEST(SupervisorDivergence, ACheckpointThatIsDueWaitsForAStateWithAFinitePerplexity) {
  for (const double loss : {kNotANumber, 1.0}) {
    Diverging bench(Diverging::usual(4));
    bench.skip(loss);
    ASSERT_EQ(bench.core.view().committed_steps(), 4U);
    EXPECT_EQ(bench.last_commit().checkpoint_by.empty(), loss != 1.0);
    EXPECT_EQ(bench.has_event(RunEventKind::kCheckpointDelayed), loss != 1.0);
    bench.step();
    EXPECT_EQ(bench.last_commit().checkpoint_by.empty(), loss == 1.0) << "it is made up for";
  }
}

TEST(SupervisorDivergence, ASignalWhileItSavesChangesNothing) {
  Diverging bench(Diverging::usual());
  bench.diverge(1);
  bench.perform(bench.core.stop("SIGTERM", 75, bench.now));
  bench.saved(13);
  EXPECT_EQ(bench.exit_status(), 5);
}

TEST(SupervisorDivergence, AStateThatCannotBeSavedStillEndsWith5) {
  Diverging bench(Diverging::usual());
  bench.diverge(1);
  bench.hear(CheckpointFailed{{}, 13, "disk full"});
  EXPECT_EQ(bench.exit_status(), 5);
  EXPECT_NE(bench.last_reason().find("disk full"), std::string::npos) << bench.last_reason();
  EXPECT_NE(bench.last_reason().find("diverged"), std::string::npos) << bench.last_reason();
}

}  // namespace
}  // namespace shoal::supervisor_divergence_test
