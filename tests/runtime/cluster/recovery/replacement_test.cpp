// Tests who takes a lost slot, and how often a worker may try.
#include "runtime/cluster/recovery/replacement.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace shoal::replacement_test {
namespace {

using namespace std::chrono_literals;

Instant start() { return Instant{} + 1h; }

ReplacementQuestion two_by_two(std::vector<TakenSlot> taken, std::vector<FreeWorker> free) {
  ReplacementQuestion question;
  question.stages = 2;
  question.replicas = 2;
  question.taken = std::move(taken);
  question.free = std::move(free);
  return question;
}

TakenSlot taken(std::uint32_t stage, std::uint32_t slot, const std::string& node) {
  return {StageId{stage}, ReplicaId{slot}, node};
}

FreeWorker worker(std::uint64_t process, const std::string& node) {
  return {{ProcessIncarnation{process}, node}, node};
}

Placement at(std::uint32_t stage, std::uint32_t slot, std::uint64_t process) {
  return {StageId{stage}, ReplicaId{slot}, ProcessIncarnation{process}};
}

TEST(Replacement, FillsTheLowestEmptySlotOfTheStageWithTheFewest) {
  const auto plan =
      plan_replacement(two_by_two({taken(0, 0, "a"), taken(0, 1, "b"), taken(1, 1, "c")}, {worker(9, "d")}));
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->placement, at(1, 0, 9));
  EXPECT_EQ(plan->reason, "stage 1 has 1 of 2 replicas; d is free");
}

TEST(Replacement, NothingWhenNobodyIsLackingOrNobodyIsFree) {
  const std::vector<TakenSlot> full{taken(0, 0, "a"), taken(0, 1, "b"), taken(1, 0, "c"), taken(1, 1, "d")};
  EXPECT_FALSE(plan_replacement(two_by_two(full, {worker(9, "e")})));
  EXPECT_FALSE(plan_replacement(two_by_two({}, {})));
}

TEST(Replacement, FillsAStageToItsOwnNumberBeforeAnotherGrowsBeyondIts) {
  auto question = two_by_two({taken(0, 0, "a"), taken(0, 1, "b"), taken(1, 0, "c")}, {worker(9, "d")});
  question.replicas = ReplicasWanted({3, 1});
  const auto plan = plan_replacement(question);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->placement, at(0, 2, 9)) << "stage 1 has fewer, and all that it wants";
  EXPECT_EQ(plan->reason, "stage 0 has 2 of 3 replicas; d is free");
  question.taken.push_back(taken(0, 2, "d"));
  EXPECT_FALSE(plan_replacement(question));
  question.replicas_max = 4;
  EXPECT_EQ(plan_replacement(question)->placement, at(1, 1, 9));
}

TEST(Replacement, PrefersWhoServedTheSlotThenANodeThatDoesNotServeTheStage) {
  auto question = two_by_two({taken(0, 0, "a"), taken(1, 0, "b"), taken(1, 1, "c")},
                             {worker(5, "a"), worker(6, "b"), worker(7, "d"), worker(8, "z")});
  EXPECT_EQ(plan_replacement(question)->placement, at(0, 1, 7)) << "a serves the stage, b is used, d came before z";
  question.last_worker[{StageId{0}, ReplicaId{1}}] = "a";
  EXPECT_EQ(plan_replacement(question)->placement, at(0, 1, 5));
  EXPECT_NE(plan_replacement(question)->reason.find("served this one before"), std::string::npos);
}

TEST(Replacement, GrowsBeyondItsReplicasOnlyWhereTheLimitSaysSo) {
  auto question = two_by_two({taken(0, 0, "a"), taken(0, 1, "b"), taken(1, 0, "c"), taken(1, 1, "d")},
                             {worker(9, "e"), worker(10, "f"), worker(11, "g")});
  EXPECT_FALSE(plan_replacement(question));
  question.replicas_max = 3;
  EXPECT_EQ(plan_replacement(question)->placement, at(0, 2, 9));
  question.taken.push_back(taken(0, 2, "e"));
  question.free.erase(question.free.begin());
  EXPECT_EQ(plan_replacement(question)->placement, at(1, 2, 10));
  question.taken.push_back(taken(1, 2, "f"));
  question.free.erase(question.free.begin());
  EXPECT_FALSE(plan_replacement(question));
}

// Whatever is missing and whoever is free: planned until nothing is planned, every slot is taken at most once, no
// worker twice, and as many stages are whole as workers allow.
TEST(Replacement, FillsWhatItCan) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 500; ++round) {
    ReplacementQuestion question;
    question.stages = 1 + static_cast<std::uint32_t>(random() % 4);
    std::vector<std::uint32_t> listed;
    for (std::uint32_t stage = 0; stage < question.stages; ++stage) {
      listed.push_back(1 + static_cast<std::uint32_t>(random() % 4));
    }
    question.replicas = ReplicasWanted(listed);
    std::uint64_t process = 0;
    for (std::uint32_t stage = 0; stage < question.stages; ++stage) {
      for (std::uint32_t slot = 0; slot < listed[stage]; ++slot) {
        if (random() % 2 == 0) question.taken.push_back(taken(stage, slot, std::to_string(++process)));
      }
    }
    const std::size_t lacking = question.replicas.total(question.stages) - question.taken.size();
    const std::size_t free = random() % 6;
    for (std::size_t i = 0; i < free; ++i) {
      ++process;
      question.free.push_back(worker(process, std::to_string(process)));
    }
    std::size_t planned = 0;
    while (const auto plan = plan_replacement(question)) {
      ++planned;
      ASSERT_LE(planned, free);
      const Placement& place = plan->placement;
      for (const TakenSlot& one : question.taken) {
        EXPECT_FALSE(one.stage == place.stage && one.slot == place.slot);
      }
      const auto by = std::find_if(question.free.begin(), question.free.end(),
                                   [&](const FreeWorker& one) { return one.worker.process == place.process; });
      ASSERT_NE(by, question.free.end());
      question.taken.push_back({place.stage, place.slot, by->worker.node});
      question.free.erase(by);
    }
    EXPECT_EQ(planned, std::min(lacking, free));
  }
}

TEST(StartBudget, AgainAtOnceThenLaterThenNotUntilTheWindowHasPassed) {
  StartBudget budget(3, 60s, 1);
  Instant now = start();
  EXPECT_TRUE(budget.may_start("a", now));
  EXPECT_FALSE(budget.failed("a", now));
  EXPECT_TRUE(budget.may_start("a", now));
  EXPECT_FALSE(budget.failed("a", now));
  EXPECT_FALSE(budget.may_start("a", now + 70ms));
  EXPECT_TRUE(budget.may_start("a", now + 130ms));
  EXPECT_FALSE(budget.failed("a", now));
  EXPECT_FALSE(budget.may_start("a", now + 140ms));
  EXPECT_TRUE(budget.may_start("a", now + 260ms));
  now += 1s;
  EXPECT_TRUE(budget.failed("a", now));
  EXPECT_FALSE(budget.failed("a", now)) << "said once";
  EXPECT_FALSE(budget.may_start("a", now + 59s));
  EXPECT_TRUE(budget.may_start("a", now + 60s));
  EXPECT_TRUE(budget.may_start("b", now)) << "each worker by itself";
}

TEST(StartBudget, ALargeOneIsSpentInPausesThatStayLong) {
  StartBudget budget(1000, 1h, 1);
  Instant now = start();
  for (int i = 0; i < 200; ++i) {
    EXPECT_FALSE(budget.failed("a", now));
    EXPECT_EQ(budget.may_start("a", now + 70ms), i == 0) << "end " << i;
    EXPECT_TRUE(budget.may_start("a", now + 1min)) << "end " << i;
    now += 1s;
  }
}

TEST(StartBudget, ForgetsEndsThatAreOld) {
  StartBudget budget(2, 60s, 1);
  Instant now = start();
  for (int i = 0; i < 20; ++i, now += 31s) EXPECT_FALSE(budget.failed("a", now));
}

TEST(StartBudget, AStormTripsOnceAWindowAndNeverStartsMoreThanTheBudget) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  StartBudget budget(3, 60s, seed);
  Instant now = start();
  int trips = 0;
  std::deque<Instant> starts;
  for (int i = 0; i < 20 * 60 * 5; ++i) {
    now += std::chrono::milliseconds(random() % 100);
    if (!budget.may_start("a", now)) continue;
    starts.push_back(now);
    while (now - starts.front() >= 60s) starts.pop_front();
    EXPECT_LE(starts.size(), 4U);
    trips += budget.failed("a", now) ? 1 : 0;
  }
  EXPECT_GE(trips, 4);
  EXPECT_LE(trips, 6);
}

TEST(StartBudget, RestsWhenToldTo) {
  StartBudget budget(3, 60s, 1);
  budget.rest("a", start() + 10min);
  EXPECT_FALSE(budget.may_start("a", start() + 9min));
  EXPECT_TRUE(budget.may_start("a", start() + 10min));
}

// A worker that rests may be asked all the same where there is nobody else.
TEST(StartBudget, PausesAfterEndsOfItsOwnAlone) {
  StartBudget budget(3, 60s, 1);
  budget.rest("a", start() + 10min);
  EXPECT_FALSE(budget.must_pause("a", start()));
  for (int end = 0; end < 2; ++end) EXPECT_FALSE(budget.failed("a", start()));
  EXPECT_TRUE(budget.must_pause("a", start()));
  EXPECT_FALSE(budget.must_pause("a", start() + 1s));
  EXPECT_FALSE(budget.may_start("a", start() + 1s));
  EXPECT_FALSE(budget.must_pause("b", start()));
}

}  // namespace
}  // namespace shoal::replacement_test
