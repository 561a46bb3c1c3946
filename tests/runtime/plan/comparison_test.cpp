// Methods side by side, and what is told of them.
#include "runtime/plan/comparison.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "runtime/plan/bandwidth_report.h"

namespace shoal::comparison_test {
namespace {

ComparisonOrder order() {
  ComparisonOrder out;
  out.workload = published_workload(kPublishedModels[0]);
  out.settings = published_settings(kPublishedModels[0]);
  out.methods = {Method::kDiloco, Method::kStreamingOverlap};
  return out;
}

TEST(Comparison, HasTheTablesCellsForTheTablesModel) {
  const auto comparison = compare(order());
  ASSERT_TRUE(comparison.ok());
  ASSERT_EQ(comparison->rows.size(), 2U);
  for (const ComparisonRow& row : comparison->rows) {
    EXPECT_EQ(row.cells, needed_bandwidth(published_scenario(row.method, kPublishedModels[0]), {}));
    EXPECT_EQ(row.curve.size(), 50U);
    EXPECT_TRUE(std::ranges::is_sorted(row.curve));
    EXPECT_GT(row.curve.back(), 0.99);
    EXPECT_FALSE(row.closely);
  }
}

TEST(Comparison, OfMoreWorkersAndLatencyNeedsMore) {
  const auto two = compare(order());
  ComparisonOrder harder = order();
  harder.network.workers = 8;
  harder.network.exchange = Exchange::kRing;
  harder.network.latency_s = 0.05;
  const auto eight = compare(harder);
  ASSERT_TRUE(eight.ok());
  for (std::size_t i = 0; i < 2; ++i) EXPECT_GT(eight->rows[i].cells[0], two->rows[i].cells[0]);
  EXPECT_EQ(eight->rows[0].cells[4], std::nullopt) << "latency alone costs more than a hundredth of the time";
}

TEST(Comparison, LooksCloselyAtOneBandwidth) {
  ComparisonOrder close = order();
  close.gbit_s = 10;
  const auto comparison = compare(close);
  ASSERT_TRUE(comparison->rows[0].closely);
  EXPECT_NEAR(comparison->rows[0].closely->sent_bits, 0.84e9 * 16, 1);
  const auto json = nlohmann::json::parse(json_of(*comparison));
  EXPECT_EQ(json["rows"][0]["at"]["period_steps"], 100);
  EXPECT_EQ(json["rows"][0]["gbit_s"].size(), 5U);
  EXPECT_EQ(json["curves"][1]["gbit_s_and_utilisation"].size(), 50U);
  EXPECT_NE(text_of(*comparison).find("At 10 Gbit/s"), std::string::npos);
}

TEST(Comparison, RefusesWhatCannotBeSimulated) {
  ComparisonOrder wrong = order();
  wrong.settings.fragments = 25;
  EXPECT_EQ(compare(wrong).failure().error, Error::kUsage);
  wrong = order();
  wrong.settings.H = 4;
  EXPECT_EQ(compare(wrong).failure().error, Error::kUsage);
  wrong = order();
  wrong.network.link_factors = {1};
  EXPECT_EQ(compare(wrong).failure().error, Error::kUsage);
}

TEST(Comparison, IsAPictureWithAPanelEach) {
  const auto comparison = compare(order());
  const Chart chart = chart_of({*comparison, *comparison});
  ASSERT_EQ(chart.panels.size(), 2U);
  ASSERT_EQ(chart.panels[0].curves.size(), 2U);
  EXPECT_EQ(chart.panels[0].curves[0].name, "diloco");
  EXPECT_NEAR(chart.panels[0].curves[0].points.back().x, 1000, 1e-6);
}

}  // namespace
}  // namespace shoal::comparison_test
