// Tests what a member gives of its state, to whom, and when.
#include "runtime/pipeline/replica/state/state_given.h"

#include <gtest/gtest.h>

#include "tests/runtime/pipeline/replica/part_bench.h"

namespace shoal::state_given_test {
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

TEST(StateGiven, AJoinerThatIsSilentForLongIsForgottenThoughNobodyAsks) {
  PartBench bench;
  StateGiven given;
  bench.tell(given, question_of(kJoiner));
  bench.complete(given, Imaged{image()});
  bench.pass(StateFeeds::kGone - std::chrono::seconds(1));
  bench.tell(given, TimePassed{});
  bench.tell(given, StepCommitted{});
  EXPECT_EQ(bench.take_letters<StepSum>().size(), 1U) << "the control";
  bench.pass(std::chrono::seconds(1));
  bench.tell(given, TimePassed{});
  bench.tell(given, StepCommitted{});
  EXPECT_TRUE(bench.take_letters<StepSum>().empty());
}

// The image of 100 bytes, of which a first piece of 40 is given.
Imaged in_pieces() {
  TensorBlob whole{DType::kUint8, {100}, std::make_shared<AlignedBuffer>(100)};
  auto source = std::make_shared<WholeImage>(whole);
  return {source->read(0, 40).value(), 100, source};
}

FetchState further(std::uint64_t offset, std::uint64_t held, std::uint64_t version = 7) {
  FetchState question = question_of(kJoiner, version);
  question.offset = offset;
  question.held = held;
  return question;
}

TEST(StateGiven, P26bGivesFurtherPiecesOfTheVersionThatItBeganWith) {
  PartBench bench;
  StateGiven given;
  bench.standing.state = {7, 6, 123, 9};
  bench.tell(given, question_of(kJoiner, 7));
  bench.complete(given, in_pieces());
  auto images = bench.take_letters<StateImage>();
  ASSERT_EQ(images.size(), 1U);
  EXPECT_EQ(images[0].bytes_total, 100U);
  EXPECT_EQ(images[0].image.byte_count(), 40U);
  bench.standing.state = {8, 7, 150, 10};  // a step later
  bench.standing.is_at_boundary = true;    // which does not matter any more
  bench.tell(given, further(40, 40));
  ASSERT_NE(bench.job_as<PieceJob>(), nullptr);
  EXPECT_EQ(bench.job_as<PieceJob>()->offset, 40U);
  bench.complete(given, PieceRead{image()});
  images = bench.take_letters<StateImage>();
  ASSERT_EQ(images.size(), 1U);
  EXPECT_EQ(images[0], (StateImage{kJoiner, 7, image(), kB0, 6, 123, 40, 100}));
  bench.tell(given, further(80, 100));
  EXPECT_FALSE(bench.job) << "all has come";
  bench.tell(given, further(80, 40));
  EXPECT_FALSE(bench.job);
  EXPECT_EQ(bench.take_letters<StateUnavailable>().size(), 1U) << "and it is given no more";
}

TEST(StateGiven, P26bRefusesAPieceOfWhatItDoesNotGive) {
  PartBench bench;
  StateGiven given;
  bench.standing.state = {7, 6, 123, 9};
  bench.tell(given, further(40, 40));
  EXPECT_EQ(bench.take_letters<StateUnavailable>().size(), 1U);
  bench.tell(given, question_of(kJoiner, 7));
  bench.complete(given, in_pieces());
  (void)bench.take_letters<StateImage>();
  (void)bench.take_letters<SaveShard>();
  bench.tell(given, further(40, 40, 6));
  EXPECT_TRUE(bench.letters.empty() && !bench.job) << "of an older one: the newer goes on";
  bench.tell(given, AddReplica{StageId{1}, {}, kJoiner, {}, 7});
  bench.tell(given, further(40, 40));
  EXPECT_FALSE(bench.job) << "who is a member copies no more";
}

TEST(StateGiven, P26bAPieceThatNobodyAsksForIsForgotten) {
  PartBench bench;
  StateGiven given;
  bench.standing.state = {7, 6, 123, 9};
  bench.tell(given, question_of(kJoiner, 7));
  bench.complete(given, in_pieces());
  bench.pass(GivenPieces::kSilence);
  bench.tell(given, TimePassed{});
  bench.tell(given, further(40, 40));
  EXPECT_FALSE(bench.job);
}

// On a slow way a piece takes longer than anybody is silent.
TEST(StateGiven, P26bAnImageThatArrivesIsKeptHoweverSlow) {
  for (const bool is_shard : {true, false}) {
    PartBench bench;
    StateGiven given;
    bench.standing.state = {7, 6, 123, 9};
    if (is_shard) {
      bench.complete_unasked(given, in_pieces());
    } else {
      bench.tell(given, question_of(kJoiner, 7));
      bench.complete(given, in_pieces());
    }
    const Incarnation taker = is_shard ? kB0 : kJoiner;
    const Incarnation donor = is_shard ? Incarnation{} : kB0;
    const StateProgress slow{{}, 7, StageId{1}, taker, donor, is_shard, 50, 100};
    for (int minute = 0; minute < 60; ++minute) {
      bench.pass(std::chrono::minutes(1));
      bench.tell(given, slow);
      bench.tell(given, TimePassed{});
    }
    if (is_shard) bench.tell(given, FetchShard{{}, 7, StageId{1}, kB0, 80, 40});
    if (!is_shard) bench.tell(given, further(80, 40));
    EXPECT_NE(bench.job_as<PieceJob>(), nullptr);
    bench.complete(given, PieceRead{image()});
    const auto is_given_after = [&](const StateProgress& progress) {
      bench.job.reset();
      bench.pass(GivenPieces::kSilence);
      bench.tell(given, progress);
      bench.tell(given, TimePassed{});
      if (is_shard) bench.tell(given, FetchShard{{}, 7, StageId{1}, kB0, 80, 40});
      if (!is_shard) bench.tell(given, further(80, 40));
      return bench.job_as<PieceJob>() != nullptr;
    };
    StateProgress other = slow;
    other.step = 6;
    EXPECT_TRUE(is_given_after(other)) << "it waits behind another one";
    bench.complete(given, PieceRead{image()});
    EXPECT_FALSE(is_given_after({{}, 7, StageId{1}, is_shard ? kJoiner : kB0, {}, !is_shard, 50, 100}))
        << "the control: it was another taker's";
  }
}

TEST(StateGiven, P26bWhatArrivesOfItsOwnStateKeepsNoImage) {
  PartBench bench;
  StateGiven given;
  bench.standing.state = {7, 6, 123, 9};
  bench.complete_unasked(given, in_pieces());
  bench.pass(GivenPieces::kSilence);
  bench.tell(given, StateProgress{{}, 7, StageId{1}, kB0, {}, false, 50, 100});
  bench.tell(given, TimePassed{});
  bench.tell(given, FetchShard{{}, 7, StageId{1}, kB0, 80, 40});
  EXPECT_FALSE(bench.job);
}

TEST(StateGiven, P26bARefusalNamesTheVersionThatWasAskedFor) {
  PartBench bench;
  StateGiven given;
  bench.standing.state = {9, 6, 123, 9};
  FetchState of_donor = question_of(kJoiner, 5);
  of_donor.donor = kB1;
  bench.tell(given, further(40, 40, 7));
  bench.tell(given, of_donor);
  const auto refusals = bench.take_letters<StateUnavailable>();
  ASSERT_EQ(refusals.size(), 2U);
  EXPECT_EQ(refusals[0].step, 7U);
  EXPECT_EQ(refusals[1].step, 5U);
}

TEST(StateGiven, P26bGivesStorageTheShardInPieces) {
  PartBench bench;
  StateGiven given;
  bench.standing.state = {7, 6, 123, 9};
  bench.complete_unasked(given, in_pieces());
  auto shards = bench.take_letters<SaveShard>();
  ASSERT_EQ(shards.size(), 1U);
  EXPECT_EQ(shards[0].bytes_total, 100U);
  bench.standing.state = {8, 7, 150, 10};
  bench.tell(given, FetchShard{{}, 7, StageId{1}, kB0, 40, 40});
  ASSERT_NE(bench.job_as<PieceJob>(), nullptr);
  bench.complete(given, PieceRead{image()});
  shards = bench.take_letters<SaveShard>();
  ASSERT_EQ(shards.size(), 1U);
  EXPECT_EQ(shards[0].step, 7U);
  EXPECT_EQ(shards[0].offset, 40U);
  EXPECT_EQ(shards[0].tokens_total, 123U);
  bench.tell(given, FetchShard{Branch{1}, 7, StageId{1}, kB0, 80, 40});
  bench.tell(given, FetchShard{{}, 7, StageId{1}, kB1, 80, 40});
  EXPECT_FALSE(bench.job) << "of another branch or replica";
  EXPECT_TRUE(bench.letters.empty());
  bench.tell(given, FetchShard{{}, 6, StageId{1}, kB0, 40, 40});
  ASSERT_EQ(bench.letters.size(), 1U);
  EXPECT_EQ(bench.letters[0].to, to_supervisor()) << "who has it saved again";
}

}  // namespace
}  // namespace shoal::state_given_test
