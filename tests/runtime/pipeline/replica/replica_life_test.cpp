// One replica, rule by rule: applies, joining, ending, evaluations, reports and the state it starts with.
#include <gtest/gtest.h>

#include "runtime/base/ensure.h"
#include "tests/support/member_bench.h"

namespace shoal::replica_life_test {
namespace {

using namespace std::chrono_literals;

TEST(Replica, P23AppliesOnlyTheSumOfTheEpochTheEntryNamesAndP24EndsOtherwise) {
  auto good = make_member(kB0);
  commit_steps(*good, 2);
  EXPECT_FALSE(good->ended);
  EXPECT_EQ(good->core.version(), 2U);

  auto other_epoch = make_member(kB0);
  other_epoch->prepare(2);
  other_epoch->reduce_alone(2);
  other_epoch->journal(other_epoch->commit(1));
  auto no_sum = make_member(kB0);
  no_sum->journal(no_sum->commit(1));
  auto other_step = make_member(kB0);
  other_step->prepare(1);
  other_step->reduce_alone(1);
  other_step->journal(other_step->commit(1, 3));
  for (Bench* bench : {other_epoch.get(), no_sum.get(), other_step.get()}) {
    EXPECT_TRUE(bench->ended);
    EXPECT_TRUE(bench->executor.applied_sums().empty());
  }
}

TEST(Replica, ASkippedStepAdvancesTheVersionAndNothingElse) {
  auto b0 = make_member(kB0);
  b0->executor.poison(MicrobatchId{0});
  b0->give(forward_to(kB0, 0));
  b0->run_all();
  b0->prepare(1);
  EXPECT_EQ(b0->take<Manifest>().at(0).entries.at(0).bad_tensor, "fake.weight");
  const std::uint64_t digest = b0->executor.state_digest();
  Commit commit = b0->commit(1);
  commit.skip = SkipStep{"fake.weight", MicrobatchId{0}};
  b0->journal(commit);
  EXPECT_EQ(b0->core.version(), 1U);
  EXPECT_EQ(b0->executor.state_digest(), digest);
  EXPECT_EQ(b0->executor.accumulators()[0], 0);
}

// The neighbour has the input's gradient before the weights' are computed; the manifest has to wait for them.
TEST(Replica, AnswersBeforeItAccumulatesAndAccumulatesBeforeItsManifest) {
  auto b0 = make_member(kB0);
  b0->executor.poison(MicrobatchId{1});
  for (const std::uint32_t index : {0U, 1U}) b0->give(forward_to(kB0, index));
  for (const std::size_t turn : {0U, 1U}) {
    b0->run_one();
    EXPECT_EQ(b0->take<Backward>().size(), 1U) << turn;
  }
  EXPECT_EQ(b0->executor.accumulators()[0] + b0->executor.accumulators()[1], 0) << "one may wait beside other work";
  b0->prepare(1);
  const auto entries = b0->take<Manifest>().at(0).entries;
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_FALSE(entries[0].bad_tensor);
  EXPECT_EQ(entries[1].bad_tensor, "fake.weight");
  for (const std::size_t index : {0U, 1U}) EXPECT_EQ(b0->executor.accumulators()[index], 1) << index;
  EXPECT_FALSE(b0->core.has_job()) << "frozen, with nothing left";
  b0->reduce_alone(1);
  EXPECT_FALSE(b0->ended);
}

TEST(Replica, AZeroForgetsWhatWasAnsweredAndNotAccumulated) {
  auto b0 = make_member(kB0);
  b0->give(forward_to(kB0, 0));
  b0->run_one();
  b0->give(Zero{b0->order(1)});
  EXPECT_FALSE(b0->core.has_job());
  b0->give(forward_to(kB0, 0));
  b0->run_all();
  b0->prepare(2);
  EXPECT_EQ(b0->take<Manifest>().at(0).entries.size(), 1U);
  EXPECT_EQ(b0->executor.accumulators()[0], 1);
}

TEST(Replica, P25DoesNothingUntilItReadsItsOwnAdd) {
  Bench joiner(setup_of(kB1));
  EXPECT_EQ(joiner.take<StageReady>().size(), 1U);
  joiner.admit(kA0);
  joiner.give(forward_to(kB1, 0));
  joiner.prepare(1);
  EXPECT_EQ(refusals(joiner), Reasons{RefusalReason::kNotMember});
  EXPECT_TRUE(joiner.take<Manifest>().empty());
  EXPECT_EQ(joiner.core.phase(), Phase::kOpen);
  joiner.now += kReadyRetry;
  joiner.perform(joiner.core.tick(joiner.now));
  EXPECT_EQ(joiner.take<StageReady>().size(), 1U) << "it says again that it is ready";
  joiner.admit(kB1);
  EXPECT_TRUE(joiner.core.is_member());
  EXPECT_EQ(joiner.take<Manifest>().size(), 1U) << "the group had read the Add before";
  joiner.open(2);
  joiner.give(forward_to(kB1, 0));
  joiner.run_all();
  EXPECT_EQ(joiner.take<Backward>().size(), 1U);
}

TEST(Replica, P27EndsWhenItIsAddedAtAnotherVersion) {
  Bench joiner(setup_of(kB1));
  joiner.admit(kB1, 3);
  EXPECT_TRUE(joiner.ended);
}

TEST(Replica, P28EndsWhenItReadsItsOwnRemove) {
  auto b0 = make_member(kB0);
  b0->journal(RemoveReplica{StageId{1}, kB0, "silent"});
  EXPECT_EQ(b0->ended, "removed: silent");
  b0->give(forward_to(kB0, 0));
  EXPECT_EQ(refusals(*b0), Reasons{RefusalReason::kNotMember});
}

TEST(Replica, AnswersAnEvaluationInAnyPhaseAtItsVersionOnly) {
  auto a0 = make_member(kA0);
  a0->prepare(1);
  a0->sent.clear();
  a0->give(evaluation_to(kA0, 50, 0));
  a0->run_all();
  EXPECT_EQ(a0->take<Forward>().at(0).purpose, Purpose::kEvaluate);
  Backward answer = backward_to_a0(50);
  answer.purpose = Purpose::kEvaluate;
  answer.input_gradient = {};
  a0->give(answer);
  a0->give(answer);
  ASSERT_EQ(a0->take<Backward>().size(), 1U);
  EXPECT_TRUE(a0->core.manifest().empty());
  a0->give(evaluation_to(kA0, 50, 1));
  EXPECT_FALSE(a0->core.has_job());
  a0->reduce_alone(1);
  a0->journal(a0->commit(1));
  EXPECT_TRUE(a0->core.has_job());
  a0->give(evaluation_to(kA0, 50, 0));
  EXPECT_EQ(refusals(*a0), Reasons{RefusalReason::kStepCommitted});
}

// Copies of a request and of its answer cross: what answers the first copy is none to the second, which waits for its
// turn.
TEST(Replica, AnAnswerToAnEarlierCopyOfAnEvaluationIsDropped) {
  auto a0 = make_member(kA0);
  Backward answer = backward_to_a0(50);
  answer.purpose = Purpose::kEvaluate;
  answer.input_gradient = {};
  a0->give(evaluation_to(kA0, 50, 0));
  a0->run_all();
  a0->give(answer);
  a0->sent.clear();
  a0->give(evaluation_to(kA0, 50, 0));
  a0->give(answer);
  EXPECT_TRUE(a0->take<Backward>().empty());
  a0->run_all();
  EXPECT_EQ(a0->take<Forward>().size(), 1U);
  a0->give(answer);
  EXPECT_EQ(a0->take<Backward>().size(), 1U);
}

TEST(Replica, AnswersAskWithWorkingUnknownOrTheBackwardItself) {
  auto b0 = make_member(kB0);
  const Forward forward = forward_to(kB0, 0);
  const Ask ask{forward.cause, kA0, Purpose::kTrain};
  b0->give(ask);
  EXPECT_EQ(b0->take<AskAnswer>().at(0).state, AskState::kUnknown);
  b0->give(forward);
  b0->give(ask);
  EXPECT_EQ(b0->take<AskAnswer>().at(0).state, AskState::kWorking);
  b0->run_all();
  EXPECT_EQ(b0->take<Backward>().size(), 1U);
  b0->give(Ask{forward.cause, kA1, Purpose::kTrain});
  EXPECT_EQ(b0->take<Backward>().size(), 1U);
}

// Its way may be slow: an Ask is answered behind it, by which whoever has lost it knows.
TEST(Replica, GivesAReplyOnceToWhoAsksAndAgainToWhoSendsTheForwardAgain) {
  auto b0 = make_member(kB0);
  const Forward forward = forward_to(kB0, 0);
  const Ask ask{forward.cause, kA0, Purpose::kTrain};
  const Ask of_another{forward.cause, kA1, Purpose::kTrain};
  b0->give(forward);
  b0->run_all();
  EXPECT_EQ(b0->take<Backward>().size(), 1U);
  b0->give(ask);
  b0->give(of_another);
  EXPECT_EQ(b0->take<Backward>().size(), 1U) << "to the other one";
  EXPECT_EQ(b0->take<AskAnswer>().at(0).state, AskState::kUnknown);
  b0->give(of_another);
  EXPECT_TRUE(b0->take<Backward>().empty());
  b0->give(forward);
  EXPECT_EQ(b0->take<Backward>().size(), 1U);
}

TEST(Replica, HintsProgressWhenNothingIsInFlight) {
  auto b0 = make_member(kB0);
  b0->give(forward_to(kB0, 0));
  b0->give(forward_to(kB0, 1));
  b0->run_one();
  EXPECT_TRUE(b0->take<Progress>().empty());
  b0->run_one();
  EXPECT_EQ(b0->take<Progress>().at(0).count, 2U);
}

TEST(Replica, ReportsAndSavesAfterTheApply) {
  auto b0 = make_member(kB0);
  b0->give(forward_to(kB0, 0));
  b0->run_all();
  b0->now += 5ms;
  b0->prepare(1);
  b0->now += 2ms;
  b0->reduce_alone(1);
  b0->now += 3ms;
  Commit commit = b0->commit(1);
  commit.checkpoint_by = {kA0, kB0};
  b0->journal(commit);
  const ReplicaReport report = b0->take<ReplicaReport>().at(0);
  EXPECT_DOUBLE_EQ(report.time.backward, 2);  // two halves
  EXPECT_DOUBLE_EQ(report.time.wait, 5);
  EXPECT_DOUBLE_EQ(report.time.reduce, 4);  // 2 ms of waiting, contribution and adoption of 1 ms each
  EXPECT_DOUBLE_EQ(report.time.commit, 3);
  EXPECT_DOUBLE_EQ(report.time.apply, 1);
  EXPECT_EQ(report.microbatches, 1U);
  EXPECT_EQ(report.state_digest, b0->executor.state_digest());
  const SaveShard shard = b0->take<SaveShard>().at(0);
  EXPECT_EQ(shard.step, 1U);
  EXPECT_EQ(shard.tokens_total, 40U);
  EXPECT_EQ(shard.image, b0->executor.state_image());
}

TEST(Replica, FetchesItsStateUntilItComesAndRefusesABrokenOne) {
  ReplicaSetup setup = setup_of(kB0);
  setup.from_checkpoint = true;
  setup.version = 6;
  setup.tensor_names = {"w"};
  Bench bench(setup);
  EXPECT_EQ(bench.take<FetchState>().size(), 1U);
  bench.now += kStateRetry;
  bench.perform(bench.core.tick(bench.now));
  EXPECT_EQ(bench.take<FetchState>().at(0), (FetchState{kB0, 6, {"w"}}));
  bench.give(StateImage{kB0, 5, make_values(DType::kInt64, {1, 2, 3, 4})});
  EXPECT_TRUE(bench.take<StageReady>().empty());
  bench.give(StateImage{kB0, 6, make_values(DType::kInt64, {1, 2, 3, 4})});
  EXPECT_EQ(bench.take<StageReady>().at(0).version, 6U);

  Bench broken(setup);
  broken.give(StateImage{kB0, 6, make_values(DType::kInt64, {1})});
  EXPECT_TRUE(broken.ended);
}

// Microbatches may have been quarantined: what was planned until then is not what was trained.
TEST(Replica, GoesOnWithTheTokensThatItsStateWasTrainedOn) {
  ReplicaSetup setup = setup_of(kB0);
  setup.from_checkpoint = true;
  setup.version = 6;
  setup.tensor_names = {"w"};
  Bench bench(setup);
  bench.give(StateImage{kB0, 6, make_values(DType::kInt64, {1, 2, 3, 4}), {}, 6, 233});
  for (const Incarnation replica : {kA0, kB0}) bench.admit(replica, 6);
  bench.give(SaveState{{}, 6, StageId{1}, kB0});
  EXPECT_EQ(bench.take<SaveShard>().at(0).tokens_total, 233U);
}

TEST(Replica, AMessageInTheMiddleOfAJobIsABug) {
  auto b0 = make_member(kB0);
  b0->give(forward_to(kB0, 0));
  const Effects job = b0->core.run_next(b0->now);
  EXPECT_FALSE(b0->core.admits(Prepare{b0->order(1), {}}));
  EXPECT_THROW((void)b0->core.receive(Prepare{b0->order(1), {}}, b0->now), Bug) << "told without asking";
}

}  // namespace
}  // namespace shoal::replica_life_test
