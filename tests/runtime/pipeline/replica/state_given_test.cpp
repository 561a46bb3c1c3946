// Tests what a member gives of its state, to whom, and when.
#include "runtime/pipeline/replica/state_given.h"

#include <gtest/gtest.h>

#include "tests/runtime/pipeline/replica/part_bench.h"

namespace shoal {
namespace {

constexpr Incarnation kJoiner{29};

FetchState question_of(Incarnation joiner, std::uint64_t version = 0) { return {joiner, version, {"w"}, kB0, {}}; }

TensorBlob image() { return FakeExecutor::input_of(1, StepId{0}, MicrobatchId{0}); }

TEST(StateGiven, GivesAJoinerAnImageAndSaysWhichStateThatIs) {
  PartBench bench;
  StateGiven given;
  bench.standing.state = {0, 0, 123, 9};
  bench.tell(given, question_of(kJoiner));
  ASSERT_NE(bench.job_as<ImageJob>(), nullptr);
  bench.complete(given, Imaged{image()});
  const auto images = bench.take_letters<StateImage>();
  ASSERT_EQ(images.size(), 1U);
  EXPECT_EQ(images[0], (StateImage{kJoiner, 0, image(), kB0, 0, 123}));
  EXPECT_EQ(bench.take_facts<ReadyWanted>().size(), 1U) << "the joiner is compared with it (P-27a)";
}

TEST(StateGiven, RefusesWhoeverMeansAnotherMemberOrBranch) {
  FetchState of_branch = question_of(kJoiner), of_donor = question_of(kJoiner);
  of_branch.branch = Branch{1};
  of_donor.donor = kB1;
  for (const FetchState& question : {of_branch, of_donor}) {
    PartBench bench;
    StateGiven given;
    bench.tell(given, question);
    EXPECT_EQ(bench.take_letters<StateUnavailable>().size(), 1U);
    EXPECT_FALSE(bench.job);
  }
}

TEST(StateGiven, AnswersAfterTheBoundaryWhoAsksAtIt) {
  PartBench bench;
  StateGiven given;
  bench.standing.is_at_boundary = true;
  bench.tell(given, question_of(kJoiner));
  bench.tell(given, question_of(kJoiner));
  bench.tell(given, SaveState{{}, 0, StageId{1}, kB0});
  EXPECT_FALSE(bench.job);
  bench.standing.is_at_boundary = false;
  bench.tell(given, StateAtRest{});
  EXPECT_NE(bench.job_as<ImageJob>(), nullptr);
  bench.complete(given, Imaged{image()});
  EXPECT_EQ(bench.take_letters<StateImage>().size(), 1U);
  bench.tell(given, StateAtRest{});
  EXPECT_FALSE(bench.job) << "it asked twice for one";
}

TEST(StateGiven, SavesTheStateOfItsVersionAlone) {
  PartBench bench;
  StateGiven given;
  bench.standing.state = {3, 2, 123, 9};
  bench.tell(given, SaveState{{}, 2, StageId{1}, kB0});
  bench.tell(given, SaveState{{}, 3, StageId{1}, kB1});
  EXPECT_FALSE(bench.job);
  bench.tell(given, SaveState{{}, 3, StageId{1}, kB0});
  ASSERT_NE(bench.job_as<ImageJob>(), nullptr);
  bench.complete(given, Imaged{image()});
  const auto shards = bench.take_letters<SaveShard>();
  ASSERT_EQ(shards.size(), 1U);
  EXPECT_EQ(shards[0].step, 3U);
  EXPECT_EQ(shards[0].tokens_total, 123U);
  EXPECT_EQ(shards[0].image, image());
}

TEST(StateGiven, P26aFeedsAJoinerTheSumOfEveryStepUntilItIsAdded) {
  PartBench bench;
  StateGiven given;
  StepCommitted committed;
  committed.sum = image();
  committed.commit.token_count = 40;
  bench.tell(given, committed);
  EXPECT_TRUE(bench.take_letters<StepSum>().empty()) << "nobody joins";
  bench.tell(given, question_of(kJoiner));
  bench.complete(given, Imaged{image()});
  bench.tell(given, committed);
  const auto sums = bench.take_letters<StepSum>();
  ASSERT_EQ(sums.size(), 1U);
  EXPECT_EQ(sums[0], (StepSum{kJoiner, kB0, {}, StepId{0}, 40, image()}));
  (void)bench.take_facts<ReadyWanted>();
  bench.tell(given, StepEnded{});
  EXPECT_EQ(bench.take_facts<ReadyWanted>().size(), 1U);
  bench.tell(given, AddReplica{StageId{1}, {}, kJoiner, {}, 1});
  bench.tell(given, committed);
  bench.tell(given, StepEnded{});
  bench.tell(given, TimePassed{});
  EXPECT_TRUE(bench.take_letters<StepSum>().empty());
  EXPECT_TRUE(bench.facts.empty());
}

TEST(StateGiven, SaysNowAndThenWhichStateItHoldsWhileSomebodyJoins) {
  PartBench bench;
  StateGiven given;
  bench.tell(given, question_of(kJoiner));
  bench.complete(given, Imaged{image()});
  bench.tell(given, TimePassed{});
  EXPECT_EQ(bench.take_facts<ReadyDue>().size(), 1U);
  bench.standing.is_at_boundary = true;
  bench.tell(given, TimePassed{});
  EXPECT_TRUE(bench.take_facts<ReadyDue>().empty());
}

}  // namespace
}  // namespace shoal
