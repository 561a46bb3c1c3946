// One replica, rule by rule. a0, a1 serve stage 0, b0, b1 stage 1 of a pipeline of two; four microbatches a step.
#include "runtime/pipeline/replica.h"

#include <gtest/gtest.h>

#include <memory>

#include "runtime/base/check.h"
#include "tests/support/replica_bench.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;

constexpr RunId kRun{7};
constexpr Incarnation kGroup{90};
constexpr Incarnation kA0{10}, kA1{11}, kB0{20}, kB1{21};
constexpr std::uint32_t kMicrobatches = 4;

std::uint32_t stage_of(Incarnation replica) { return replica.value < 20 ? 0 : 1; }

struct Bench : ReplicaBench {
  explicit Bench(const ReplicaSetup& setup) : ReplicaBench(setup), self(setup.self) { begin(); }

  void journal(JournalBody body) { give(JournalEntry{JournalPosition{++entries}, {}, Term{1}, std::move(body)}); }
  void admit(Incarnation replica, std::uint64_t version = 0) {
    journal(AddReplica{StageId{stage_of(replica)}, {}, replica, ProcessIncarnation{replica.value}, version});
  }
  [[nodiscard]] OrderId order(std::uint32_t counter, std::uint64_t step = 0) const {
    return {kRun, {}, Term{1}, StageId{stage_of(self)}, StepId{step}, Epoch{kGroup, counter}};
  }
  void prepare(std::uint32_t counter) { give(Prepare{order(counter), {}}); }
  void open(std::uint32_t counter) { give(Open{order(counter)}); }
  void reduce_alone(std::uint32_t counter) { give(Reduce{order(counter), {self}, 40}); }
  [[nodiscard]] Commit commit(std::uint32_t counter, std::uint64_t step = 0) const {
    Commit entry;
    entry.step = StepId{step};
    for (std::uint32_t stage = 0; stage < 2; ++stage) {
      entry.stages.push_back({StageId{stage}, Epoch{kGroup, counter}, 0, {}});
    }
    entry.token_count = 40;
    entry.learning_rate = 0.1;
    entry.optimizer_step = step + 1;
    return entry;
  }
  [[nodiscard]] std::vector<std::uint32_t> manifest() {
    std::vector<std::uint32_t> microbatches;
    for (const Manifest& sent_manifest : take<Manifest>()) {
      microbatches.clear();
      for (const ManifestEntry& entry : sent_manifest.entries) microbatches.push_back(entry.microbatch.value);
    }
    return microbatches;
  }

  Incarnation self;
  std::uint64_t entries = 0;
};

ReplicaSetup setup_of(Incarnation self) {
  ReplicaSetup setup;
  setup.run = kRun;
  setup.term = Term{1};
  setup.stage = StageId{stage_of(self)};
  setup.stage_count = 2;
  setup.self = self;
  setup.process = ProcessIncarnation{self.value};
  setup.microbatch_count = kMicrobatches;
  setup.bucket_bytes = 8;
  return setup;
}

std::unique_ptr<Bench> make_member(Incarnation self) {
  auto bench = std::make_unique<Bench>(setup_of(self));
  for (const Incarnation replica : {kA0, kA1, kB0, kB1}) bench->admit(replica);
  bench->sent.clear();
  return bench;
}

// A training Forward for `to` as its upstream sends it.
Forward forward_to(Incarnation to, std::uint32_t microbatch, std::uint64_t step = 0, Incarnation sender = kA0) {
  const std::uint32_t stage = stage_of(to);
  Forward forward;
  forward.cause.run = kRun;
  forward.cause.term = Term{1};
  forward.cause.step = StepId{step};
  forward.cause.microbatch = MicrobatchId{microbatch};
  forward.cause.hop = stage;
  forward.sender = stage == 0 ? Incarnation{} : sender;
  forward.weights_version = step;
  forward.path = stage == 0 ? std::vector<Incarnation>{to, kB0} : std::vector<Incarnation>{sender, to};
  forward.input = FakeExecutor::input_of(stage, StepId{step}, MicrobatchId{microbatch});
  return forward;
}

Forward evaluation_to(Incarnation to, std::uint32_t microbatch, std::uint64_t version) {
  Forward forward = forward_to(to, microbatch, version);
  forward.purpose = Purpose::kEvaluate;
  return forward;
}

Backward backward_to_a0(std::uint32_t microbatch, std::uint64_t step = 0, Incarnation sender = kB0) {
  Backward backward;
  backward.cause = forward_to(kB0, microbatch, step).cause;
  backward.sender = sender;
  backward.weights_version = step;
  backward.trail = {Hop{sender, 1, 2, 3}};
  backward.input_gradient = FakeExecutor::input_of(1, StepId{step}, MicrobatchId{microbatch});
  backward.loss_sum = 3.5;
  backward.token_count = FakeExecutor::kTokens;
  return backward;
}

std::vector<RefusalReason> refusals(ReplicaBench& bench) {
  std::vector<RefusalReason> reasons;
  for (const Refusal& refusal : bench.take<Refusal>()) reasons.push_back(refusal.reason);
  return reasons;
}

using Reasons = std::vector<RefusalReason>;
using Numbers = std::vector<std::uint32_t>;

// Brings b0 to version `steps` with empty steps.
void commit_steps(Bench& bench, std::uint64_t steps, std::uint32_t first_counter = 1) {
  for (std::uint64_t step = 0; step < steps; ++step) {
    const auto counter = static_cast<std::uint32_t>(first_counter + step);
    bench.give(Prepare{bench.order(counter, step), {}});
    bench.give(Reduce{bench.order(counter, step), {bench.self}, 40});
    bench.journal(bench.commit(counter, step));
  }
}

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

TEST(Replica, P7ChangesOnlyTheTrailOfWhatIsAccumulated) {
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
    bench->run_all();  // what arrived while frozen runs now
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
  b0->give(Prepare{b0->order(6, 1), {}});  // of the next step: waits
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
  b0->give(Prepare{b0->order(7), Epoch{kGroup, 4}});  // that Zero is behind it now
  EXPECT_EQ(b0->manifest(), Numbers{1});
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
  b0->give(ask);
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
  EXPECT_DOUBLE_EQ(report.time.backward, 1);
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

TEST(Replica, AMessageInTheMiddleOfAJobIsABug) {
  auto b0 = make_member(kB0);
  b0->give(forward_to(kB0, 0));
  const Effects job = b0->core.run_next(b0->now);
  EXPECT_THROW(b0->prepare(1), Bug);
}

}  // namespace
}  // namespace shoal
