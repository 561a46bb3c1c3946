// Thinning keeps extremes, gaps and order.
#include "runtime/trace/curves/thinned.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace shoal::thinned_test {
namespace {

TEST(Thinned, AFewPointsStayAsTheyAre) {
  const std::vector<ChartPoint> points = {{1, 5}, {2, 3}, {3, 4}};
  const auto same = thinned(points, 1);
  ASSERT_EQ(same.size(), 3U);
  EXPECT_EQ(same[1].y, 3);
  EXPECT_TRUE(thinned({}, 4).empty());
}

// No extreme is lost, the order stays, and there are no more points than allowed, whatever the values are.
TEST(Thinned, KeepsTheExtremesTheGapsAndTheOrder) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int trial = 0; trial < 50; ++trial) {
    std::vector<ChartPoint> points;
    const std::size_t size = 1 + random() % 50000;
    for (std::size_t i = 0; i < size; ++i) {
      points.push_back({static_cast<double>(i), static_cast<double>(random() % 1000)});
    }
    const std::size_t gap = random() % size;
    points[gap].y = std::numeric_limits<double>::quiet_NaN();
    const std::size_t bins = 1 + random() % 500;
    const auto few = thinned(points, bins);
    EXPECT_LE(few.size(), std::max<std::size_t>(3 * bins, 1));
    EXPECT_TRUE(std::ranges::is_sorted(few, {}, &ChartPoint::x));
    const auto extremes_of = [](const std::vector<ChartPoint>& some) {
      std::pair<double, double> extremes{1e9, -1e9};
      for (const ChartPoint& point : some) {
        if (std::isnan(point.y)) continue;
        extremes = {std::min(extremes.first, point.y), std::max(extremes.second, point.y)};
      }
      return extremes;
    };
    EXPECT_EQ(extremes_of(few), extremes_of(points));
    EXPECT_EQ(std::ranges::count_if(few, [](const ChartPoint& point) { return std::isnan(point.y); }), 1);
  }
}

}  // namespace
}  // namespace shoal::thinned_test
