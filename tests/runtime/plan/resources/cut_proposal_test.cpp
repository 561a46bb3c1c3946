// The cut for unequal machines is the best there is.
#include "runtime/plan/resources/cut_proposal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace shoal::cut_proposal_test {
namespace {

using ::testing::ElementsAre;

double slowest(const std::vector<double>& costs, const std::vector<double>& speeds, const std::vector<int>& counts) {
  double worst = 0;
  std::size_t layer = 0;
  for (std::size_t stage = 0; stage < speeds.size(); ++stage) {
    double cost = 0;
    for (int i = 0; i < counts[stage]; ++i) cost += costs[layer++];
    worst = std::max(worst, cost / speeds[stage]);
  }
  EXPECT_EQ(layer, costs.size());
  return worst;
}

TEST(CutProposal, LayersAreInProportionToSpeed) {
  EXPECT_THAT(cut_for({1, 1, 1, 1, 1, 1, 1, 1}, {3, 1}), ElementsAre(6, 2));
  EXPECT_THAT(cut_for({1, 1, 1, 1}, {1, 1, 1, 1}), ElementsAre(1, 1, 1, 1));
  EXPECT_THAT(cut_for({1, 1, 1, 5}, {1, 1}), ElementsAre(3, 1)) << "a head that is dear";
}

TEST(CutProposal, IsTheBestOfAll) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<double> costs(3 + random() % 7);
    for (double& cost : costs) cost = 1 + static_cast<double>(random() % 9);
    std::vector<double> speeds(3);
    for (double& speed : speeds) speed = 1 + static_cast<double>(random() % 5);
    const auto layers = static_cast<int>(costs.size());
    double best = 1e9;
    for (int first = 1; first <= layers - 2; ++first) {
      for (int second = 1; first + second <= layers - 1; ++second) {
        best = std::min(best, slowest(costs, speeds, {first, second, layers - first - second}));
      }
    }
    const auto counts = cut_for(costs, speeds);
    EXPECT_GE(std::ranges::min(counts), 1);
    EXPECT_EQ(slowest(costs, speeds, counts), best);
  }
}

}  // namespace
}  // namespace shoal::cut_proposal_test
