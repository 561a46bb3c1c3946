// The ledger, the queue that orders a replica's work and the clock that divides its time.
#include "runtime/pipeline/ledger.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "runtime/base/ensure.h"
#include "runtime/pipeline/compute_queue.h"
#include "runtime/pipeline/replica_time.h"
#include "runtime/pipeline/schedule.h"

namespace shoal::ledger_test {
namespace {

using namespace std::chrono_literals;

Forward forward_of(std::uint32_t microbatch, std::uint64_t sender = 1) {
  Forward forward;
  forward.cause.microbatch = MicrobatchId{microbatch};
  forward.sender = Incarnation{sender};
  return forward;
}

TEST(Ledger, EntersAMicrobatchOnce) {
  Ledger ledger(2);
  ledger.enter(forward_of(0), Instant{});
  EXPECT_THROW(ledger.enter(forward_of(0), Instant{}), Bug);
  EXPECT_EQ(ledger.in_flight_count(), 1U);
}

TEST(Ledger, NeverHoldsMoreThanThePlan) {
  Ledger ledger(2);
  EXPECT_FALSE(ledger.is_planned(MicrobatchId{2}));
  EXPECT_THROW(ledger.enter(forward_of(2), Instant{}), Bug);
}

TEST(Ledger, AnswersAMicrobatchOnceAndGivesBackItsWaiters) {
  Ledger ledger(2);
  LedgerEntry& entry = ledger.enter(forward_of(1, 5), Instant{});
  Ledger::join(entry, Waiter{Incarnation{6}, {}});
  Ledger::join(entry, Waiter{Incarnation{5}, {}});
  EXPECT_EQ(ledger.answer(MicrobatchId{1}, {10, 2.0, {}}, Backward{}).size(), 2U);
  EXPECT_THROW(ledger.answer(MicrobatchId{1}, {10, 2.0, {}}, Backward{}), Bug);
  EXPECT_THROW(ledger.answer(MicrobatchId{0}, {}, Backward{}), Bug);
}

TEST(Ledger, ManifestNamesWhatIsAnsweredInOrder) {
  Ledger ledger(4);
  for (const std::uint32_t microbatch : {3U, 0U, 2U}) ledger.enter(forward_of(microbatch), Instant{});
  ledger.answer(MicrobatchId{3}, {10, 1.5, "head"}, Backward{});
  ledger.answer(MicrobatchId{0}, {11, 2.5, {}}, Backward{});
  const std::vector<ManifestEntry> expected = {{MicrobatchId{0}, 11, 2.5, {}}, {MicrobatchId{3}, 10, 1.5, "head"}};
  EXPECT_EQ(ledger.manifest(), expected);
  EXPECT_EQ(ledger.in_flight(), std::vector<MicrobatchId>{MicrobatchId{2}});
  ledger.clear();
  EXPECT_TRUE(ledger.manifest().empty());
  EXPECT_EQ(ledger.in_flight_count(), 0U);
}

TEST(Ledger, NamesThePassesOfWhatIsAnswered) {
  Ledger ledger(4);
  for (const std::uint32_t microbatch : {2U, 0U, 3U}) {
    LedgerEntry& entry = ledger.enter(forward_of(microbatch, 5 + microbatch), Instant{});
    entry.gradient_from = Incarnation{20 + microbatch};
    Ledger::join(entry, Waiter{Incarnation{9}, {}});  // asks for the answer, gave no input
    if (microbatch != 3) ledger.answer(MicrobatchId{microbatch}, {10, 2.0, {}}, Backward{});
  }
  const std::vector<MicrobatchPass> expected = {{MicrobatchId{0}, Incarnation{5}, Incarnation{20}},
                                                {MicrobatchId{2}, Incarnation{7}, Incarnation{22}}};
  EXPECT_EQ(ledger.passes(), expected);
}

TEST(ComputeQueue, RunsBackwardsFirstIn1f1bAndForwardsFirstInAfab) {
  const std::vector<Task> tasks = {{TaskKind::kForward, MicrobatchId{2}},
                                   {TaskKind::kForward, MicrobatchId{1}},
                                   {TaskKind::kBackward, MicrobatchId{3}},
                                   {TaskKind::kBackward, MicrobatchId{0}}};
  ComputeQueue one_f_one_b(Schedule::k1f1b, 1);
  ComputeQueue all_f_all_b(Schedule::kAfab, 1);
  for (const Task& task : tasks) one_f_one_b.add(task), all_f_all_b.add(task);
  for (const std::size_t at : {3U, 2U, 1U, 0U}) EXPECT_EQ(one_f_one_b.take(TrainingWork::kAllowed), tasks[at]);
  for (const std::size_t at : {1U, 0U, 3U, 2U}) EXPECT_EQ(all_f_all_b.take(TrainingWork::kAllowed), tasks[at]);
  EXPECT_FALSE(one_f_one_b.has_task(TrainingWork::kAllowed));
}

TEST(ComputeQueue, HoldsTrainingBackButNotEvaluations) {
  ComputeQueue queue(Schedule::k1f1b, 1);
  queue.add({TaskKind::kForward, MicrobatchId{0}});
  EXPECT_FALSE(queue.has_task(TrainingWork::kHeld));
  EXPECT_FALSE(queue.take(TrainingWork::kHeld));
  queue.add({TaskKind::kEvaluate, MicrobatchId{9}});
  EXPECT_EQ(queue.take(TrainingWork::kHeld), (Task{TaskKind::kEvaluate, MicrobatchId{9}}));
  queue.add({TaskKind::kEvaluate, MicrobatchId{8}});
  queue.drop_training();
  EXPECT_EQ(queue.take(TrainingWork::kAllowed), (Task{TaskKind::kEvaluate, MicrobatchId{8}}));
  EXPECT_FALSE(queue.has_task(TrainingWork::kAllowed));
}

TEST(ComputeQueue, WeightsGradientsComeLastUntilTooManyOfThemWait) {
  const Task forward{TaskKind::kForward, MicrobatchId{7}};
  const auto accumulation = [](std::uint32_t index) { return Task{TaskKind::kAccumulate, MicrobatchId{index}}; };
  for (const Schedule schedule : {Schedule::k1f1b, Schedule::kAfab}) {
    ComputeQueue queue(schedule, 2);
    for (const std::uint32_t index : {3U, 1U}) queue.add(accumulation(index));
    queue.add(forward);
    EXPECT_EQ(queue.take(TrainingWork::kAllowed), forward) << "two may wait";
    queue.add(forward);
    queue.add(accumulation(2));
    EXPECT_EQ(queue.take(TrainingWork::kAllowed), accumulation(1)) << "three may not: the oldest first";
    EXPECT_FALSE(queue.has_task(TrainingWork::kHeld));
    EXPECT_EQ(queue.take(TrainingWork::kAllowed), forward);
    EXPECT_EQ(queue.take_accumulation(), MicrobatchId{2});
    EXPECT_EQ(queue.take(TrainingWork::kAllowed), accumulation(3)) << "nothing else is left";
    queue.add(accumulation(4));
    queue.drop_training();
    EXPECT_FALSE(queue.take_accumulation());
  }
}

// One more is answered first for those alone who wait for a forward or a backward.
TEST(ComputeQueue, KnowsPassesFromWorkThatNobodyWaitsFor) {
  for (const Schedule schedule : {Schedule::k1f1b, Schedule::kAfab}) {
    ComputeQueue queue(schedule, 2);
    EXPECT_FALSE(queue.has_pass());
    queue.add({TaskKind::kAccumulate, MicrobatchId{1}});
    queue.add({TaskKind::kEvaluate, MicrobatchId{1}});
    EXPECT_TRUE(queue.has_task(TrainingWork::kAllowed));
    EXPECT_FALSE(queue.has_pass());
    for (const TaskKind kind : {TaskKind::kForward, TaskKind::kBackward}) {
      queue.add({kind, MicrobatchId{2}});
      EXPECT_TRUE(queue.has_pass());
      queue.drop_training_of(MicrobatchId{2});
      EXPECT_FALSE(queue.has_pass());
    }
  }
}

TEST(Schedule, TheLastMicrobatchesOfAStepAreAnsweredFirst) {
  const auto first_of_8 = [](std::uint32_t stage, std::size_t replicas, OtherWork other = OtherWork::kNone) {
    for (std::uint32_t index = 0; index < 8; ++index) {
      if (is_answered_first(MicrobatchId{index}, 8, StageId{stage}, replicas, other)) return index;
    }
    return 8U;
  };
  EXPECT_EQ(first_of_8(0, 2), 8U) << "nobody waits for stage 0";
  EXPECT_EQ(first_of_8(1, 1), 6U);
  EXPECT_EQ(first_of_8(1, 2), 4U);
  EXPECT_EQ(first_of_8(3, 3), 0U);
  EXPECT_EQ(first_of_8(1, 1, OtherWork::kWaits), 5U) << "one more that others wait behind";
  EXPECT_EQ(first_of_8(1, 2, OtherWork::kWaits), 2U);
  EXPECT_EQ(first_of_8(0, 2, OtherWork::kWaits), 8U);

  PipelineConfig pipeline;
  EXPECT_EQ(accumulations_that_may_wait(pipeline, StageId{0}), 0U);
  EXPECT_EQ(accumulations_that_may_wait(pipeline, StageId{2}), 4U);
  pipeline.stages = 3;
  pipeline.credits = 4;
  EXPECT_EQ(accumulations_that_may_wait(pipeline, StageId{2}), 3U) << "no more in flight than by schedule";
  pipeline.recompute = true;
  EXPECT_EQ(accumulations_that_may_wait(pipeline, StageId{2}), 0U);
}

TEST(ReplicaTime, PartsAreDisjointAndAddUpToTheStep) {
  const std::uint64_t seed = 20;
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  Instant now{};
  ReplicaTime time(now);
  for (int step = 0; step < 20; ++step) {
    const Instant begun = now;
    for (int change = 0; change < 30; ++change) {
      time.enter(static_cast<Activity>(random() % 6), now);
      if (random() % 3 == 0) time.transfer(static_cast<double>(random() % 10));
      now += std::chrono::microseconds(random() % 5000);
    }
    const TimeBreakdown parts = time.take(now);
    const double total =
        parts.forward + parts.backward + parts.wire + parts.wait + parts.reduce + parts.commit + parts.apply;
    EXPECT_NEAR(total, milliseconds(now - begun), 1e-6);
    EXPECT_GE(parts.wait, 0);
  }
}

TEST(ReplicaTime, CallsIdleTimeWireOnlyAsFarAsTensorsWereOnTheirWay) {
  Instant now{};
  ReplicaTime time(now);
  time.transfer(3);
  time.enter(Activity::kForward, now += 10ms);
  const TimeBreakdown parts = time.take(now += 5ms);
  EXPECT_DOUBLE_EQ(parts.wire, 3);
  EXPECT_DOUBLE_EQ(parts.wait, 7);
  EXPECT_DOUBLE_EQ(parts.forward, 5);
}

}  // namespace
}  // namespace shoal::ledger_test
