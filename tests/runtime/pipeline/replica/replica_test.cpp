// One replica, rule by rule: data, ledger and orders. Its life, applies and reports: replica_life_test.cpp.
#include "runtime/pipeline/replica/replica.h"

#include <gtest/gtest.h>

#include "tests/support/member_bench.h"

namespace shoal::replica_test {
namespace {

using namespace std::chrono_literals;

TEST(Replica, P5RefusesALowerStepAndHoldsTheNextOneUntilTheCommit) {
  auto b0 = make_member(kB0);
  b0->give(forward_to(kB0, 1, 1));
  b0->run_all();
  EXPECT_TRUE(b0->sent.empty());
  b0->give(forward_to(kB0, 1, 2));
  EXPECT_EQ(refusals(*b0), Reasons{RefusalReason::kStepNotReached});
  commit_steps(*b0, 1);
  b0->run_all();
  EXPECT_EQ(b0->take<Backward>().size(), 1U) << "the held Forward was not computed after the commit";
  b0->give(forward_to(kB0, 1, 0));
  EXPECT_EQ(refusals(*b0), Reasons{RefusalReason::kStepCommitted});
}

TEST(Replica, P5BoundsItsWaitingRoom) {
  auto b0 = make_member(kB0);
  std::size_t refused = 0;
  for (std::uint32_t at = 0; at < 500; ++at) {
    b0->give(evaluation_to(kB0, at, 1));
    refused += refusals(*b0).size();
  }
  EXPECT_EQ(500 - refused, 2 * kMicrobatches + kEvaluationsMax);
}

// Evaluations of this version wait to be computed. One that is asked for again is no other.
TEST(Replica, BoundsTheEvaluationsThatItHasUnanswered) {
  auto b0 = make_member(kB0);
  for (const std::uint32_t at : {0U, 1U, 0U}) b0->give(evaluation_to(kB0, at, 0));
  std::size_t refused = 0;
  for (std::uint32_t at = 0; at < 500; ++at) {
    b0->give(evaluation_to(kB0, at, 0));
    for (const RefusalReason reason : refusals(*b0)) refused += reason == RefusalReason::kBusy ? 1 : 0;
  }
  EXPECT_EQ(500 - refused, std::max<std::size_t>(kEvaluationsMax, 2 * kMicrobatches));
}

TEST(Replica, P6ComputesOnceAndAnswersARepeatFromItsCache) {
  auto b0 = make_member(kB0);
  b0->give(forward_to(kB0, 2));
  b0->run_all();
  const auto first = b0->take<Backward>();
  b0->give(forward_to(kB0, 2, 0, kA1));
  EXPECT_FALSE(b0->core.has_job());
  const auto again = b0->take<Backward>();
  ASSERT_EQ(first.size(), 1U);
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(first[0].input_gradient, again[0].input_gradient);
  EXPECT_EQ(b0->executor.accumulators(), (std::vector<std::int64_t>{0, 0, FakeExecutor::gradient_of(StepId{0}), 0}));
}

TEST(Replica, P6LetsEveryAskerOfAMicrobatchInFlightWait) {
  auto b0 = make_member(kB0);
  b0->give(forward_to(kB0, 2));
  b0->give(forward_to(kB0, 2, 0, kA1));
  b0->run_all();
  ASSERT_EQ(b0->sent.size(), 3U);  // two answers and the progress
  EXPECT_EQ(b0->sent[0].to, (Address{{}, Role::kStage, StageId{0}, kA0}));
  EXPECT_EQ(b0->sent[1].to, (Address{{}, Role::kStage, StageId{0}, kA1}));
}

TEST(Replica, P6RefusesNewWorkWhileFrozenButStillAnswersFromItsCache) {
  auto b0 = make_member(kB0);
  b0->give(forward_to(kB0, 0));
  b0->run_all();
  b0->prepare(1);
  b0->sent.clear();
  b0->give(forward_to(kB0, 1));
  EXPECT_EQ(refusals(*b0), Reasons{RefusalReason::kFrozen});
  b0->give(forward_to(kB0, 0));
  EXPECT_EQ(b0->take<Backward>().size(), 1U);
}

TEST(Replica, P7AccumulatesAnAnswerOnceAndAnswersUpstreamWithTheLongerTrail) {
  auto a0 = make_member(kA0);
  a0->give(forward_to(kA0, 3));
  a0->run_all();
  const auto onward = a0->take<Forward>();
  ASSERT_EQ(onward.size(), 1U);
  EXPECT_EQ(onward[0].sender, kA0);
  EXPECT_EQ(onward[0].cause.hop, 1U);
  a0->give(backward_to_a0(3));
  a0->give(backward_to_a0(3, 0, kB1));  // the answer to a repeat
  a0->run_all();
  a0->give(backward_to_a0(3));
  a0->run_all();
  EXPECT_EQ(a0->executor.accumulators()[3], FakeExecutor::gradient_of(StepId{0}));
  const auto replies = a0->take<Backward>();
  ASSERT_EQ(replies.size(), 1U);
  EXPECT_EQ(replies[0].loss_sum, 3.5);
  ASSERT_EQ(replies[0].trail.size(), 2U);
  EXPECT_EQ(replies[0].trail[0], (Hop{kB0, 1, 2, 3}));
  EXPECT_EQ(replies[0].trail[1].replica, kA0);
  EXPECT_FLOAT_EQ(replies[0].trail[1].compute_ms, 2);
  EXPECT_FALSE(replies[0].input_gradient.has_value());
}

TEST(Replica, AnEarlyForwardHasWaitedInItsQueueSinceItCame) {
  auto b0 = make_member(kB0);
  b0->core.transfer_timed(7);
  b0->give(forward_to(kB0, 1, 1));
  b0->now += 300ms;
  commit_steps(*b0, 1);
  b0->run_all();
  const Hop hop = b0->take<Backward>().at(0).trail.at(0);
  EXPECT_GE(hop.queue_ms, 300);
  EXPECT_EQ(hop.transfer_ms, 7);
}

TEST(Replica, P7ChangesOnlyTheTrailOfWhatIsAnswered) {
  auto a0 = make_member(kA0);
  a0->give(forward_to(kA0, 3));
  a0->run_all();
  a0->give(backward_to_a0(3));
  a0->run_all();
  a0->give(backward_to_a0(3, 0, kB1));
  a0->sent.clear();
  a0->give(forward_to(kA0, 3));
  EXPECT_EQ(a0->take<Backward>().at(0).trail.at(0).replica, kB1);
}

TEST(Replica, P7DropsAnAnswerToNothing) {
  auto a0 = make_member(kA0);
  a0->give(backward_to_a0(1));
  a0->give(backward_to_a0(1, 5));
  EXPECT_FALSE(a0->core.has_job());
  EXPECT_EQ(a0->core.counters().dropped_answers, 2U);
}

TEST(Replica, P8LetsNothingIntoTheAccumulatorsWhileFrozen) {
  auto a0 = make_member(kA0);
  auto b0 = make_member(kB0);
  a0->give(forward_to(kA0, 0));
  a0->run_all();
  b0->give(forward_to(kB0, 0));  // queued, not yet computed
  for (Bench* bench : {a0.get(), b0.get()}) {
    bench->prepare(1);
    EXPECT_EQ(bench->manifest(), Numbers{});
  }
  a0->give(backward_to_a0(0));
  for (Bench* bench : {a0.get(), b0.get()}) {
    bench->run_all();
    EXPECT_EQ(bench->executor.accumulators()[0], 0);
    bench->open(2);
    bench->run_all();  // runs what arrived while frozen
    EXPECT_EQ(bench->executor.accumulators()[0], FakeExecutor::gradient_of(StepId{0}));
    bench->prepare(3);
    EXPECT_EQ(bench->manifest(), Numbers{0});
  }
}

TEST(Replica, P9TakesAnAnswerOfAnEarlierAttempt) {
  auto a0 = make_member(kA0);
  Forward forward = forward_to(kA0, 0);
  forward.cause.attempt = 4;
  a0->give(forward);
  a0->run_all();
  a0->give(backward_to_a0(0));
  a0->run_all();
  EXPECT_EQ(a0->take<Backward>().at(0).cause.attempt, 4U);
}

TEST(Replica, P10RefusesSendersOutsideItsView) {
  auto b0 = make_member(kB0);
  b0->give(forward_to(kB0, 0, 0, Incarnation{66}));
  b0->journal(RemoveReplica{StageId{0}, kA1, "dead"});
  b0->give(forward_to(kB0, 0, 0, kA1));
  EXPECT_EQ(refusals(*b0), (Reasons{RefusalReason::kFenced, RefusalReason::kFenced}));
  auto a0 = make_member(kA0);
  a0->give(forward_to(kA0, 0));
  a0->run_all();
  a0->give(backward_to_a0(0, 0, Incarnation{67}));
  EXPECT_FALSE(a0->core.has_job());
}

TEST(Replica, P3WaitsForTheJournalThatNamesALaterSender) {
  auto b0 = make_member(kB0);
  Forward forward = forward_to(kB0, 0, 0, Incarnation{12});
  forward.cause.position = JournalPosition{5};
  b0->give(forward);
  ASSERT_EQ(b0->take<FetchJournal>().size(), 1U);
  b0->admit(Incarnation{12});
  b0->run_all();
  EXPECT_EQ(b0->take<Backward>().size(), 1U);
}

TEST(Replica, P3FetchesAGapAndIgnoresRepeats) {
  auto b0 = make_member(kB0);
  b0->give(JournalEntry{JournalPosition{9}, {}, Term{1}, RemoveReplica{StageId{0}, kA0, "late"}});
  EXPECT_EQ(b0->take<FetchJournal>().at(0).after, JournalPosition{4});
  b0->give(JournalEntry{JournalPosition{2}, {}, Term{1}, RemoveReplica{StageId{1}, kB0, "an old position"}});
  EXPECT_FALSE(b0->ended);
  EXPECT_EQ(b0->core.position(), JournalPosition{4});
}

TEST(Replica, P11KeepsRepliesUntilTheOwnApply) {
  auto b0 = make_member(kB0);
  b0->give(forward_to(kB0, 0));
  b0->run_all();
  b0->prepare(1);
  b0->reduce_alone(1);
  EXPECT_EQ(b0->core.phase(), Phase::kReduced);
  b0->sent.clear();
  b0->give(forward_to(kB0, 0));
  EXPECT_EQ(b0->take<Backward>().size(), 1U);
  b0->journal(b0->commit(1));
  b0->give(forward_to(kB0, 0));
  EXPECT_EQ(refusals(*b0), Reasons{RefusalReason::kStepCommitted});
  EXPECT_TRUE(b0->core.manifest().empty());
}

TEST(Replica, P15ObeysHigherEpochsRepeatsEqualOnesAndDropsLower) {
  auto b0 = make_member(kB0);
  b0->give(forward_to(kB0, 0));
  b0->run_all();
  b0->prepare(3);
  b0->reduce_alone(3);
  b0->sent.clear();
  b0->prepare(3);  // politely: same manifest, the sum stays
  EXPECT_EQ(b0->manifest(), Numbers{0});
  b0->reduce_alone(3);
  EXPECT_EQ(b0->take<Reduced>().size(), 1U);
  b0->open(2);
  b0->give(Zero{b0->order(1)});
  b0->open(3);
  EXPECT_EQ(b0->core.phase(), Phase::kReduced);
  b0->open(4);  // the sum is dropped, the ledger stays
  EXPECT_EQ(b0->core.phase(), Phase::kOpen);
  EXPECT_EQ(b0->core.manifest().size(), 1U);
  b0->reduce_alone(3);
  EXPECT_TRUE(b0->take<Reduced>().empty());
}

TEST(Replica, P15TakesNoOrderOfAnotherRunBranchStageTermOrStep) {
  auto b0 = make_member(kB0);
  std::vector<OrderId> foreign(4, b0->order(5));
  foreign[0].run = RunId{8};
  foreign[1].branch = Branch{1};
  foreign[2].stage = StageId{0};
  foreign[3].term = Term{0};
  for (const OrderId& order : foreign) b0->give(Prepare{order, {}});
  EXPECT_EQ(b0->core.phase(), Phase::kOpen);
  EXPECT_EQ(b0->core.counters().stale_orders, 4U);
  b0->give(Prepare{b0->order(6, 1), {}});  // an order of the next step: waits
  EXPECT_EQ(b0->core.phase(), Phase::kOpen);
  commit_steps(*b0, 1);
  EXPECT_EQ(b0->core.phase(), Phase::kFrozen);
  EXPECT_EQ(b0->core.epoch(), (Epoch{kGroup, 6}));
}

TEST(Replica, P15ZeroForgetsLedgerAndRepliesSoThatTheStepIsReplayed) {
  auto b0 = make_member(kB0);
  b0->give(forward_to(kB0, 0));
  b0->run_all();
  b0->prepare(1);
  b0->give(Zero{b0->order(2)});
  EXPECT_EQ(b0->executor.accumulators()[0], 0);
  b0->give(forward_to(kB0, 0));
  b0->run_all();
  EXPECT_EQ(b0->executor.accumulators()[0], FakeExecutor::gradient_of(StepId{0}));
}

TEST(Replica, AMemberThatMissedAZeroZeroesBeforeItAnswers) {
  auto b0 = make_member(kB0);
  b0->give(forward_to(kB0, 0));
  b0->run_all();
  b0->give(Prepare{b0->order(5), Epoch{kGroup, 4}});
  EXPECT_EQ(b0->manifest(), Numbers{});
  EXPECT_EQ(b0->executor.accumulators()[0], 0);
  b0->open(6);
  b0->give(forward_to(kB0, 1));
  b0->run_all();
  b0->give(Prepare{b0->order(7), Epoch{kGroup, 4}});  // the replica is past that Zero now
  EXPECT_EQ(b0->manifest(), Numbers{1});
}

TEST(Replica, P16bNoticesAMissedZeroBehindAnOpenThatItObeyed) {
  auto b0 = make_member(kB0);
  b0->open(1);
  b0->give(forward_to(kB0, 0));
  b0->run_all();
  b0->open(5);  // Zero(4) was lost
  b0->give(Prepare{b0->order(6), Epoch{kGroup, 4}});
  EXPECT_EQ(b0->manifest(), Numbers{});
  EXPECT_EQ(b0->executor.accumulators()[0], 0);
  EXPECT_EQ(b0->take<Zero>().size(), 1U) << "its router forgets too";
  b0->open(7);
  b0->give(forward_to(kB0, 1));
  b0->run_all();
  b0->give(Prepare{b0->order(8), Epoch{kGroup, 4}});
  EXPECT_EQ(b0->manifest(), Numbers{1}) << "once is enough";
}

// A Zero follows the manifests of all members: none concerns a joiner before its first order, or an earlier step.
TEST(Replica, P16bEmptiesNobodyForAZeroFromBeforeItsWork) {
  auto joined = make_member(kB0);
  joined->open(5);
  joined->give(forward_to(kB0, 0));
  joined->run_all();
  joined->give(Prepare{joined->order(6), Epoch{kGroup, 4}});
  EXPECT_EQ(joined->manifest(), Numbers{0});
  auto zeroed = make_member(kB0);
  zeroed->open(1);
  zeroed->give(Zero{zeroed->order(4)});
  zeroed->open(5);
  zeroed->give(forward_to(kB0, 0));
  zeroed->run_all();
  zeroed->give(Prepare{zeroed->order(6), Epoch{kGroup, 4}});
  EXPECT_EQ(zeroed->manifest(), Numbers{0});
}

TEST(Replica, P17GivesAgainWhatItsLedgerHoldsAndNothingAfterAZero) {
  auto a0 = make_member(kA0);
  a0->give(forward_to(kA0, 0));
  a0->give(forward_to(kA0, 1));
  a0->run_all();
  a0->give(backward_to_a0(0));
  a0->run_all();
  OrderId order = a0->order(1);
  order.stage = StageId{1};
  const Missing all{order, kA0, {MicrobatchId{0}, MicrobatchId{1}, MicrobatchId{2}}};
  a0->give(all);
  EXPECT_EQ(a0->take<Missing>().at(0).microbatches, (std::vector{MicrobatchId{0}, MicrobatchId{1}}));
  a0->prepare(1);  // behind a manifest what is in flight may be somebody else's
  a0->give(all);
  EXPECT_EQ(a0->take<Missing>().at(0).microbatches, std::vector{MicrobatchId{0}});
  a0->give(Zero{a0->order(2)});
  EXPECT_EQ(a0->take<Zero>().size(), 1U) << "its router forgets too";
  a0->give(all);
  EXPECT_TRUE(a0->take<Missing>().empty());
}

TEST(Replica, P18MembersEndWithTheWholeSumAndPartsMayComeBeforeTheOrder) {
  auto b0 = make_member(kB0);
  auto b1 = make_member(kB1);
  b0->give(forward_to(kB0, 0));
  b1->give(forward_to(kB1, 1));
  for (Bench* bench : {b0.get(), b1.get()}) {
    bench->run_all();
    bench->prepare(1);
  }
  const std::vector<Incarnation> members = {kB0, kB1};
  b0->give(Reduce{b0->order(1), members, 20});
  for (const Part& part : b0->take<Part>()) b1->give(part);
  EXPECT_EQ(b1->core.phase(), Phase::kFrozen);
  b1->give(Reduce{b1->order(1), members, 20});
  for (int round = 0; round < 4; ++round) {
    for (const Part& part : b1->take<Part>()) b0->give(part);
    for (const Part& part : b0->take<Part>()) b1->give(part);
  }
  const auto from_b0 = b0->take<Reduced>();
  const auto from_b1 = b1->take<Reduced>();
  ASSERT_EQ(from_b0.size(), 1U);
  ASSERT_EQ(from_b1.size(), 1U);
  EXPECT_EQ(from_b0[0].digest, from_b1[0].digest);
  for (Bench* bench : {b0.get(), b1.get()}) {
    bench->journal(bench->commit(1));
    const std::int64_t once = FakeExecutor::gradient_of(StepId{0});
    EXPECT_EQ(bench->executor.applied_sums().at(0), (std::vector<std::int64_t>{once, once, 0, 0}));
    EXPECT_EQ(bench->core.version(), 1U);
  }
}

// b0 and b1 with the sums of both under way: b0 has sent its parts, b1 has not heard of the order.
struct Pair {
  Pair() {
    for (Bench* bench : {b0.get(), b1.get()}) bench->prepare(1);
    b0->give(reduce);
    b1->sent.clear();
  }
  std::unique_ptr<Bench> b0 = make_member(kB0);
  std::unique_ptr<Bench> b1 = make_member(kB1);
  Reduce reduce{b0->order(1), {kB0, kB1}, 20};
};

TEST(Replica, ARepeatedReduceSendsAgainOnlyWhatDidNotCome) {
  Pair pair;
  const auto lost = pair.b0->take<Part>();
  pair.b1->give(pair.reduce);
  pair.b1->sent.clear();
  pair.b0->give(pair.reduce);
  EXPECT_TRUE(pair.b0->take<Part>().empty()) << "they may be on their way";
  const auto marks = pair.b0->take<PartsSent>();
  ASSERT_EQ(marks.size(), 1U);
  pair.b1->give(marks[0]);
  const auto questions = pair.b1->take<MissingParts>();
  ASSERT_EQ(questions.size(), 1U);
  pair.b0->give(questions[0]);
  EXPECT_EQ(pair.b0->take<Part>(), lost);
}

TEST(Replica, AMarkOfAnotherEpochAsksForNothing) {  // P-15
  Pair pair;
  pair.b1->give(pair.reduce);
  pair.b0->give(pair.reduce);
  PartsSent mark = pair.b0->take<PartsSent>().at(0);
  mark.order.epoch.counter = 7;
  pair.b1->give(mark);
  EXPECT_TRUE(pair.b1->take<MissingParts>().empty());
}

TEST(Replica, TellsItsGroupHowFarASumIsWhileItComesCloser) {
  Pair pair;
  const auto parts = pair.b0->take<Part>();
  ASSERT_EQ(parts.size(), 2U);
  pair.b1->give(pair.reduce);
  pair.b1->now += SumProgress::kPause;
  pair.b1->give(parts[0]);
  pair.b1->give(parts[1]);
  const auto told = pair.b1->take<Progress>();
  ASSERT_EQ(told.size(), 1U) << "bounded";
  EXPECT_EQ(told[0], (Progress{pair.reduce.order, kB1, 0, 1}));
  pair.b1->now += SumProgress::kPause;
  pair.b1->give(parts[1]);
  EXPECT_EQ(pair.b1->take<Progress>().at(0).parts, 2U) << "the repeat says nothing, the second was not told yet";
  pair.b1->now += SumProgress::kPause;
  pair.b1->give(parts[1]);
  EXPECT_TRUE(pair.b1->take<Progress>().empty()) << "it stands still";
}

// A part may take longer on its way than a group waits before it repeats an order.
TEST(Replica, APieceOfAPartIsProgressToo) {
  Pair pair;
  pair.b1->give(pair.reduce);
  pair.b1->now += SumProgress::kPause;
  Progress piece{pair.reduce.order, kB0, 0, 4};
  pair.b1->give(piece);
  EXPECT_EQ(pair.b1->take<Progress>().size(), 1U);
  pair.b1->now += SumProgress::kPause;
  piece.order.epoch.counter = 7;
  pair.b1->give(piece);
  EXPECT_TRUE(pair.b1->take<Progress>().empty()) << "of another epoch";
}

TEST(Replica, WhatIsQuarantinedLeavesTheLedgerAndIsNotTakenAgain) {
  auto b0 = make_member(kB0);
  b0->give(forward_to(kB0, 1));
  b0->run_all();
  b0->give(forward_to(kB0, 2));
  b0->sent.clear();
  b0->give(JournalEntry{
      JournalPosition{b0->core.position().value + 1}, {}, Term{1}, Quarantine{StepId{0}, MicrobatchId{2}, "poison"}});
  EXPECT_FALSE(b0->core.has_job());
  EXPECT_EQ(b0->take<Progress>().size(), 1U) << "nothing is in flight any more";
  b0->give(forward_to(kB0, 2));
  EXPECT_FALSE(b0->core.has_job());
  EXPECT_TRUE(b0->sent.empty());
  b0->give(forward_to(kB0, 3));
  EXPECT_TRUE(b0->core.has_job()) << "the control";
}

TEST(Replica, WhatWasAnsweredStaysInTheManifestForTheGroupToSee) {
  auto b0 = make_member(kB0);
  b0->give(forward_to(kB0, 2));
  b0->run_all();
  b0->give(JournalEntry{
      JournalPosition{b0->core.position().value + 1}, {}, Term{1}, Quarantine{StepId{0}, MicrobatchId{2}, "poison"}});
  ASSERT_EQ(b0->core.manifest().size(), 1U);
  EXPECT_EQ(b0->core.manifest()[0].microbatch, MicrobatchId{2});
}

}  // namespace
}  // namespace shoal::replica_test
