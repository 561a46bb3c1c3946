// Tests the assignment of unequal machines: known cases, and random ones against every possible assignment.
#include "runtime/cluster/balance/assignment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace shoal::assignment_test {
namespace {

double throughput(const std::vector<std::size_t>& stage_of, const std::vector<double>& speeds,
                  const std::vector<double>& loads) {
  return std::ranges::min(capacities_of(stage_of, speeds, loads));
}

double best_by_trying_all(const std::vector<double>& speeds, const std::vector<double>& loads) {
  std::vector<std::size_t> stage_of(speeds.size(), 0);
  double best = 0;
  for (;;) {
    best = std::max(best, throughput(stage_of, speeds, loads));
    std::size_t i = 0;
    while (i < stage_of.size() && ++stage_of[i] == loads.size()) stage_of[i++] = 0;
    if (i == stage_of.size()) return best;
  }
}

TEST(Assignment, SharesEqualMachinesEvenly) {
  const std::vector<double> speeds(12, 1.0);
  EXPECT_DOUBLE_EQ(throughput(best_assignment(speeds, {1, 1, 1}), speeds, {1, 1, 1}), 4);
}

TEST(Assignment, GivesADearStageMore) {
  const std::vector<double> speeds(12, 1.0);
  const std::vector<double> loads = {1, 2};
  const auto capacities = capacities_of(best_assignment(speeds, loads), speeds, loads);
  EXPECT_EQ(capacities, (std::vector<double>{4, 4}));
}

TEST(Assignment, SwapsWhereGivingTheFastestFirstIsNotBest) {
  const std::vector<double> speeds = {3, 3, 2, 2, 2};
  EXPECT_DOUBLE_EQ(throughput(best_assignment(speeds, {1, 1}), speeds, {1, 1}), 6);
}

TEST(Assignment, AStageMayStayWithout) {
  const std::vector<double> speeds = {1};
  EXPECT_DOUBLE_EQ(throughput(best_assignment(speeds, {1, 1}), speeds, {1, 1}), 0);
}

TEST(Assignment, IsNearTheBestOfAll) {
  std::mt19937 random(29);
  double worst = 1;
  for (int trial = 0; trial < 100; ++trial) {
    std::vector<double> speeds;
    for (int i = 0; i < 8; ++i) speeds.push_back(std::uniform_real_distribution(0.5, 2.0)(random));
    const std::vector<double> loads = {1, std::uniform_real_distribution(0.7, 1.5)(random)};
    const double found = throughput(best_assignment(speeds, loads), speeds, loads);
    const double best = best_by_trying_all(speeds, loads);
    EXPECT_LE(found, best * (1 + 1e-9)) << "trial " << trial;
    worst = std::min(worst, found / best);
  }
  EXPECT_GE(worst, 0.94);
}

TEST(Assignment, WithManyMachinesComesWithinAPercentOfTheBound) {
  std::mt19937 random(30);
  std::vector<double> speeds;
  for (int i = 0; i < 1000; ++i) speeds.push_back(std::vector{0.5, 1.0, 2.0}[random() % 3]);
  const std::vector<double> loads(24, 1.0);
  double sum = 0;
  for (const double speed : speeds) sum += speed;
  EXPECT_GE(throughput(best_assignment(speeds, loads), speeds, loads), 0.99 * sum / 24);
  std::vector<std::size_t> by_number(speeds.size());  // negative control: in the order of joining
  for (std::size_t i = 0; i < speeds.size(); ++i) by_number[i] = i % loads.size();
  EXPECT_LT(throughput(by_number, speeds, loads), 0.9 * sum / 24);
}

}  // namespace
}  // namespace shoal::assignment_test
