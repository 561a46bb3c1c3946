// The data alone: what the other parts tell it, and what it tells them. The conversation itself: replica_test.cpp.
#include "runtime/pipeline/replica/replica_data.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/sync/sync_group.h"
#include "tests/runtime/pipeline/replica/part_bench.h"

namespace shoal::replica_data_test {
namespace {

// A replica of the last stage, so that a Forward is answered by its own computation.
struct Bed {
  explicit Bed(const ReplicaSetup& setup = setup_of(kB0)) : bench(setup), data(setup) {}

  void forward(std::uint32_t microbatch, std::uint64_t step = 0) {
    bench.tell(data, forward_to(kB0, microbatch, step));
  }
  void compute(std::optional<AccumulateResult> accumulated = AccumulateResult{}) {
    ASSERT_TRUE(data.has_task(bench.standing));
    data.run_next(bench.turn);
    bench.collect();
    const auto* loss = bench.job_as<LossJob>();
    ASSERT_NE(loss, nullptr);
    BackwardResult result;
    result.token_count = 10;
    result.loss_sum = 2;
    bench.complete(data, Differentiated{loss->work.microbatch, result, std::move(accumulated)});
  }

  PartBench bench;
  ReplicaData data;
};

FreezeWanted wanted(const PartBench& bench, bool has_missed_a_zero = false) {
  return {Prepare{bench.order(1), {}}, has_missed_a_zero};
}

TEST(ReplicaData, TellsItsManifestWhenThePrepareIsToBeObeyed) {
  Bed bed;
  bed.forward(2);
  bed.compute();
  bed.forward(3);
  bed.bench.tell(bed.data, wanted(bed.bench));
  const auto made = bed.bench.take_facts<ManifestMade>();
  ASSERT_EQ(made.size(), 1U);
  EXPECT_EQ(made[0].in_flight, std::vector<MicrobatchId>{MicrobatchId{3}});
  ASSERT_EQ(made[0].entries.size(), 1U);
  EXPECT_EQ(made[0].entries[0].microbatch, MicrobatchId{2});
  EXPECT_EQ(made[0].entries[0].token_count, 10U);
}

TEST(ReplicaData, P16aAccumulatesEverythingThatIsAnsweredBeforeItsManifest) {
  Bed bed;
  for (const std::uint32_t microbatch : {0U, 3U}) {
    bed.forward(microbatch);
    bed.compute(std::nullopt);
  }
  bed.bench.tell(bed.data, wanted(bed.bench));
  std::vector<std::uint32_t> accumulated;
  while (const auto* job = bed.bench.job_as<AccumulateJob>()) {
    EXPECT_TRUE(bed.bench.take_facts<ManifestMade>().empty());
    accumulated.push_back(job->microbatch.value);
    bed.bench.complete(bed.data, Accumulated{job->microbatch, {10, "w"}});
    ASSERT_EQ(bed.bench.take_facts<PrepareAgain>().size(), 1U);
    bed.bench.tell(bed.data, wanted(bed.bench));
  }
  EXPECT_EQ(accumulated, (Numbers{0, 3}));
  const auto made = bed.bench.take_facts<ManifestMade>();
  ASSERT_EQ(made.size(), 1U);
  for (const ManifestEntry& entry : made[0].entries) EXPECT_EQ(entry.bad_tensor, "w");
}

TEST(ReplicaData, P16bIsEmptiedBeforeAManifestWhenAZeroWasMissed) {
  Bed bed;
  bed.forward(2);
  bed.compute(std::nullopt);
  bed.bench.tell(bed.data, wanted(bed.bench, true));
  EXPECT_EQ(bed.bench.take_letters<Zero>().size(), 1U) << "its router forgets what it kept";
  const auto made = bed.bench.take_facts<ManifestMade>();
  ASSERT_EQ(made.size(), 1U);
  EXPECT_TRUE(made[0].entries.empty());
  EXPECT_EQ(bed.bench.job_as<AccumulateJob>(), nullptr);
}

TEST(ReplicaData, AZeroEmptiesItAndShowsThatItDid) {
  Bed bed;
  bed.forward(2);
  bed.compute();
  bed.bench.letters.clear();
  bed.bench.tell(bed.data, StepZeroed{bed.bench.order(2)});
  ASSERT_EQ(bed.bench.letters.size(), 2U);
  EXPECT_EQ(bed.bench.letters[0].to, bed.bench.standing.own_router());
  EXPECT_EQ(bed.bench.take_letters<Progress>().at(0).count, 0U);
  EXPECT_NE(bed.bench.job_as<ZeroJob>(), nullptr);
  EXPECT_TRUE(bed.data.manifest().empty());
}

// The group may have lost what it was told of it.
TEST(ReplicaData, SaysAfterAnOpenThatEverythingIsAnswered) {
  Bed bed;
  bed.bench.tell(bed.data, StepOpened{});
  EXPECT_TRUE(bed.bench.take_letters<Progress>().empty()) << "nothing is";
  bed.forward(0);
  bed.compute();
  bed.bench.letters.clear();
  bed.bench.tell(bed.data, StepOpened{});
  EXPECT_EQ(bed.bench.take_letters<Progress>().size(), 1U);
  bed.forward(1);
  bed.bench.tell(bed.data, StepOpened{});
  EXPECT_TRUE(bed.bench.take_letters<Progress>().empty()) << "one is in flight";
}

// A slow member of a long step: the group hears of it for as long as it comes on, and asks for nothing.
TEST(ReplicaData, P16IsNotProbedWhileItAnswersOneAMinuteAndAlwaysHasOneInFlight) {
  constexpr std::uint32_t kPlanned = 9;  // more minutes than a group waits
  ReplicaSetup setup = setup_of(kB0);
  setup.microbatch_count = kPlanned;
  Bed bed(setup);
  SyncGroupConfig config{kRun, Term{1}, StageId{1}, kGroup, kPlanned};
  config.look_max = std::chrono::hours(1);  // time goes in leaps here
  SyncGroupCore group(config);
  JournalPosition position;
  const auto read = [&](JournalBody body) {
    (void)group.follow({JournalPosition{++position.value}, {}, Term{1}, std::move(body)}, bed.bench.turn.now());
  };
  read(AddReplica{StageId{1}, {}, kB0, {}, 0});
  read(AppointGroup{StageId{1}, kGroup});
  bed.bench.standing.epoch = group.epoch();
  bed.forward(0);
  for (std::uint32_t answered = 0; answered < kPlanned; ++answered) {
    EXPECT_EQ(group.phase(), SyncGroupCore::Phase::kOpen) << answered;
    bed.bench.pass(std::chrono::minutes(1));
    if (answered + 1 < kPlanned) bed.forward(answered + 1);
    bed.compute();
    for (const Progress& news : bed.bench.take_letters<Progress>()) (void)group.hear(news, bed.bench.turn.now());
    if (answered + 1 < kPlanned) (void)group.tick(bed.bench.turn.now());
  }
  EXPECT_EQ(group.phase(), SyncGroupCore::Phase::kPreparing) << "the control: the hints cover the plan";
}

TEST(ReplicaData, S6KeepsNothingOfWhoAsksAndIsNotInTheView) {
  Bed bed;
  bed.forward(1);
  Ask question{forward_to(kB0, 1, 0).cause, kA0, Purpose::kTrain};
  const auto ask_of_strangers = [&] {
    for (std::uint64_t stranger = 1'000'000; stranger < 1'010'000; ++stranger) {
      question.sender = Incarnation{stranger};
      bed.bench.tell(bed.data, question);
    }
    const auto answers = bed.bench.take_letters<AskAnswer>();
    EXPECT_EQ(std::ranges::count(answers, AskState::kUnknown, &AskAnswer::state), 10'000);
    EXPECT_TRUE(bed.bench.take_letters<Backward>().empty());
  };
  ask_of_strangers();
  bed.compute();
  EXPECT_EQ(bed.bench.take_letters<Backward>().size(), 1U) << "they do not wait for it";
  ask_of_strangers();
  question.sender = kA1;
  bed.bench.tell(bed.data, question);
  EXPECT_EQ(bed.bench.take_letters<Backward>().size(), 1U) << "the control";
}

TEST(ReplicaData, TellsWhatItDidOfTheStepThatIsApplied) {
  Bed bed;
  for (const std::uint32_t microbatch : {0U, 1U}) {
    bed.forward(microbatch);
    bed.compute();
  }
  bed.forward(1);
  bed.bench.tell(bed.data, StepApplied{});
  const auto trained = bed.bench.take_facts<StepTrained>();
  ASSERT_EQ(trained.size(), 1U);
  EXPECT_EQ(trained[0].microbatches, 2U);
  EXPECT_EQ(trained[0].retried, 1U);
  EXPECT_EQ(trained[0].own_tokens, 20U);
  EXPECT_TRUE(trained[0].passes.empty()) << "all replicas of the stage have the same weights";
}

TEST(ReplicaData, TakesWhatCameTooEarlyWhenTheNextStepBegins) {
  Bed bed;
  bed.forward(1, 1);
  EXPECT_FALSE(bed.data.has_task(bed.bench.standing));
  bed.bench.tell(bed.data, StepEnded{});
  bed.bench.standing.state.version = 1;
  EXPECT_FALSE(bed.data.has_task(bed.bench.standing));
  bed.bench.tell(bed.data, NextStep{});
  EXPECT_TRUE(bed.data.has_task(bed.bench.standing));
}

TEST(ReplicaData, P8ComputesOnlyWhileTheStepIsOpenAndTheReplicaAMember) {
  Bed bed;
  bed.forward(1);
  EXPECT_TRUE(bed.data.has_task(bed.bench.standing));
  bed.bench.standing.phase = Phase::kFrozen;
  EXPECT_FALSE(bed.data.has_task(bed.bench.standing));
  bed.bench.standing.phase = Phase::kOpen;
  bed.bench.standing.membership = Membership::kEnded;
  EXPECT_FALSE(bed.data.has_task(bed.bench.standing));
}

// The sum names another member for it, who answers; until the sum is whole it may still be this one.
TEST(ReplicaData, P6LeavesWhatIsInFlightToAnotherBehindAWholeSum) {
  Bed bed;
  const Forward forward = forward_to(kB0, 1, 0);
  const Ask question{forward.cause, forward.sender, Purpose::kTrain};
  const auto states_of_answers = [&] {
    std::vector<AskState> states;
    for (const AskAnswer& answer : bed.bench.take_letters<AskAnswer>()) states.push_back(answer.state);
    return states;
  };
  bed.bench.tell(bed.data, forward);
  bed.bench.standing.phase = Phase::kFrozen;
  bed.bench.tell(bed.data, forward);
  bed.bench.tell(bed.data, question);
  EXPECT_TRUE(bed.bench.take_letters<Refusal>().empty()) << "the control";
  EXPECT_EQ(states_of_answers(), std::vector<AskState>{AskState::kWorking}) << "the control";
  bed.bench.standing.phase = Phase::kReduced;
  bed.bench.tell(bed.data, forward);
  bed.bench.tell(bed.data, question);
  const auto refusals = bed.bench.take_letters<Refusal>();
  ASSERT_EQ(refusals.size(), 1U);
  EXPECT_EQ(refusals[0].reason, RefusalReason::kFrozen);
  EXPECT_EQ(states_of_answers(), std::vector<AskState>{AskState::kUnknown});
  bed.bench.standing.phase = Phase::kOpen;  // the sum is void
  bed.compute();
  EXPECT_EQ(bed.bench.take_letters<Backward>().size(), 1U);
}

TEST(ReplicaData, P20aWithdrawsWhatIsQuarantinedAndDropsWhatComesOfIt) {
  Bed bed;
  bed.forward(1);
  bed.bench.tell(bed.data, Quarantine{StepId{0}, MicrobatchId{1}, "test"});
  EXPECT_FALSE(bed.data.has_task(bed.bench.standing));
  bed.forward(1);
  EXPECT_FALSE(bed.data.has_task(bed.bench.standing));
  EXPECT_EQ(bed.data.dropped_answers(), 1U);
  bed.forward(2);
  EXPECT_TRUE(bed.data.has_task(bed.bench.standing)) << "the control";
}

}  // namespace
}  // namespace shoal::replica_data_test
