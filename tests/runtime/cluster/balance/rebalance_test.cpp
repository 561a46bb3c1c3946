// Tests which replica moves, that costs and hysteresis matter, and that moves come to an end.
#include "runtime/cluster/balance/rebalance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "runtime/cluster/balance/assignment.h"

namespace shoal::rebalance_test {
namespace {

using testing::HasSubstr;

constexpr double kRate = 100e6;

// Replicas of these speeds, with numbers from `first` on.
StageLoad stage_of(const std::vector<double>& speeds, std::uint64_t first, double state_bits = 8e8) {
  StageLoad stage{1, state_bits, {}};
  for (const double speed : speeds) stage.replicas.push_back({Incarnation{first++}, speed, kRate, kRate, 1e6});
  return stage;
}

void perform(BalanceQuestion& question, const StageMove& move) {
  auto& from = question.stages[move.from->value].replicas;
  const auto mover = std::ranges::find(from, move.replica, &BalancedReplica::replica);
  BalancedReplica moved = *mover;
  from.erase(mover);
  moved.served_s = 0;
  question.stages[move.to.value].replicas.push_back(moved);
}

double throughput(const BalanceQuestion& question) {
  double least = capacity_of(question.stages.front());
  for (const StageLoad& stage : question.stages) least = std::min(least, capacity_of(stage));
  return least;
}

TEST(Rebalance, MovesFromTheFullStageToTheWeakest) {
  const BalanceQuestion question{{stage_of({1, 1, 1, 1, 1}, 1), stage_of({1}, 10), stage_of({1, 1}, 20)}, {}};
  const auto decision = decide_move(question, {});
  ASSERT_TRUE(decision.move);
  EXPECT_EQ(decision.move->from, StageId{0});
  EXPECT_EQ(decision.move->to, StageId{1});
  EXPECT_DOUBLE_EQ(decision.move->takes_s, 8e8 / kRate + RebalanceRule{}.warm_up_s);
  EXPECT_DOUBLE_EQ(decision.move->gain, 1);
  EXPECT_THAT(decision.reason, HasSubstr("stage 1 is the weakest and gains 100 % by replica 1 of stage 0"));
}

TEST(Rebalance, FiveOneOneOneBecomesTwoEachByThreeMoves) {
  BalanceQuestion question{{stage_of({1, 1, 1, 1, 1}, 1), stage_of({1}, 10), stage_of({1}, 20), stage_of({1}, 30)}, {}};
  int moves = 0;
  for (auto decision = decide_move(question, {}); decision.move; decision = decide_move(question, {})) {
    perform(question, *decision.move);
    ++moves;
  }
  EXPECT_EQ(moves, 3);
  EXPECT_DOUBLE_EQ(throughput(question), 2);
}

TEST(Rebalance, TakesTheOneThatLeavesTheGiverEnough) {
  const BalanceQuestion question{{stage_of({4, 1, 1}, 1), stage_of({2, 1}, 10)}, {}};
  const auto decision = decide_move(question, {});
  ASSERT_TRUE(decision.move);
  EXPECT_EQ(decision.move->replica, Incarnation{2});  // the fast one would make stage 0 the weakest
}

TEST(Rebalance, ASpareGoesFirstWhenItGainsAsMuch) {
  const BalanceQuestion question{{stage_of({1, 1, 1, 1}, 1), stage_of({1}, 10)}, stage_of({1}, 40).replicas};
  const auto decision = decide_move(question, {});
  ASSERT_TRUE(decision.move);
  EXPECT_EQ(decision.move->replica, Incarnation{40});
  EXPECT_FALSE(decision.move->from);
}

TEST(Rebalance, OnlyOneMovesAtATime) {
  BalanceQuestion question{{stage_of({1, 1, 1, 1, 1}, 1), stage_of({1}, 10)}, {}};
  question.is_one_moving = true;
  const auto decision = decide_move(question, {});
  EXPECT_FALSE(decision.move);
  EXPECT_EQ(decision.reason, "another replica is moving");
}

TEST(Rebalance, TheLastReplicaOfAStageStays) {
  const BalanceQuestion question{{stage_of({9}, 1), stage_of({1, 1}, 10)}, {}};
  const auto decision = decide_move(question, {});
  EXPECT_FALSE(decision.move);
  EXPECT_THAT(decision.reason, HasSubstr("last replica"));
}

TEST(Rebalance, AStateThatTakesTooLongIsNotMoved) {
  const double terabyte = 8e12;
  const BalanceQuestion question{{stage_of({1, 1, 1, 1}, 1), stage_of({1}, 10, terabyte)}, {}};
  const auto decision = decide_move(question, {});
  EXPECT_FALSE(decision.move);
  EXPECT_THAT(decision.reason, HasSubstr("does not pay"));
  RebalanceRule ignorant;  // negative control: a rule for which no cost counts moves for nothing
  ignorant.horizon_s = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(decide_move(question, ignorant).move);
  ignorant.lost_work_s = 1e9;
  EXPECT_TRUE(decide_move(question, ignorant).move);
}

TEST(Rebalance, LostWorkCounts) {
  const BalanceQuestion question{{stage_of({1, 1, 1, 1}, 1), stage_of({1}, 10)}, {}};
  RebalanceRule rule;
  EXPECT_TRUE(decide_move(question, rule).move);
  rule.lost_work_s = 2 * rule.horizon_s;
  EXPECT_FALSE(decide_move(question, rule).move);
}

// Speeds are measured, and measurements scatter: by 2 % here. Returns the moves of a thousand looks.
int moves_under_noise(const RebalanceRule& rule) {
  std::mt19937 random(31);
  std::normal_distribution<double> noise(1, 0.02);
  BalanceQuestion truth{{stage_of(std::vector<double>(10, 1.0), 1), stage_of(std::vector<double>(11, 1.0), 20)}, {}};
  int moves = 0;
  for (int look = 0; look < 1000; ++look) {
    BalanceQuestion seen = truth;
    for (StageLoad& stage : seen.stages) {
      for (BalancedReplica& replica : stage.replicas) replica.speed *= noise(random) * 0.5 + 0.5;
    }
    for (StageLoad& stage : seen.stages) stage.load *= noise(random);
    if (const auto decision = decide_move(seen, rule); decision.move) perform(truth, *decision.move), ++moves;
  }
  return moves;
}

TEST(Rebalance, HysteresisKeepsNoiseFromMovingAnybody) {
  RebalanceRule rule;
  rule.least_gain = 0.1;
  EXPECT_LE(moves_under_noise(rule), 3);
  rule.least_gain = 0;  // negative control: without it replicas go to and fro
  EXPECT_GE(moves_under_noise(rule), 50);
}

TEST(Rebalance, WhoHasJustMovedRests) {
  BalanceQuestion question{{stage_of({1, 1, 1}, 1), stage_of({1}, 10)}, {}};
  for (BalancedReplica& replica : question.stages[0].replicas) replica.served_s = 60;
  RebalanceRule rule;
  rule.rest_s = 300;
  const auto decision = decide_move(question, rule);
  EXPECT_FALSE(decision.move);
  EXPECT_THAT(decision.reason, HasSubstr("only just begun"));
  rule.rest_s = 60;
  EXPECT_TRUE(decide_move(question, rule).move);
}

TEST(Rebalance, AStageIsUrgentWithOneReplicaOrAfterAGreatLoss) {
  EXPECT_TRUE(is_urgent(stage_of({1}, 1), 1, {}));
  EXPECT_TRUE(is_urgent(stage_of({}, 1), 1, {}));
  EXPECT_TRUE(is_urgent(stage_of({1, 1}, 1), 5, {}));
  EXPECT_FALSE(is_urgent(stage_of({1, 1, 1}, 1), 5, {}));
}

TEST(Rebalance, MovesNeverLowerTheThroughputAndEndNearTheBest) {
  std::random_device device;
  const auto seed = device();
  std::mt19937 random(seed);
  for (int trial = 0; trial < 50; ++trial) {
    BalanceQuestion question;
    std::vector<double> speeds;
    std::uint64_t next = 1;
    for (int stage = 0; stage < 4; ++stage) {
      std::vector<double> own;
      for (std::size_t i = 0; i < 1 + random() % 20; ++i) own.push_back(std::vector{0.5, 1.0, 2.0}[random() % 3]);
      speeds.insert(speeds.end(), own.begin(), own.end());
      question.stages.push_back(stage_of(own, next));
      next += own.size();
    }
    int moves = 0;
    for (auto decision = decide_move(question, {}); decision.move; decision = decide_move(question, {})) {
      const double before = throughput(question);
      perform(question, *decision.move);
      ASSERT_GE(throughput(question), before * (1 - 1e-12)) << "seed " << seed;
      ASSERT_LT(++moves, 200) << "seed " << seed;
    }
    const std::vector<double> loads(4, 1.0);
    const double best = std::ranges::min(capacities_of(best_assignment(speeds, loads), speeds, loads));
    EXPECT_GE(throughput(question), best - 1.01) << "seed " << seed;  // half of the fastest, and a half
  }
}

}  // namespace
}  // namespace shoal::rebalance_test
