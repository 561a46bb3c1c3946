// Tests what of a stacked chart is drawn, and that it is an SVG whatever the values are.
#include "runtime/drawing/stacked_chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "runtime/base/ensure.h"

namespace shoal::stacked_chart_test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

StackedChart chart(std::size_t series, CurveLook look, const std::vector<ChartPoint>& points) {
  StackedChart chart{"title", "subtitle", {"steps", 0, 100, {}}, {}, {{look, "a < b"}}, {}, {}};
  StackedPanel panel{"Loss", "a note", {"nats", 0, 10, {}}, 200, {}};
  for (std::size_t i = 0; i < series; ++i) {
    chart.series.push_back("run-" + std::to_string(i));
    panel.curves.push_back({i, look, points});
  }
  chart.panels.push_back(std::move(panel));
  return chart;
}

std::size_t count(const std::string& text, const std::string& word) {
  std::size_t times = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++times;
  return times;
}

double height_of(const std::string& svg) { return std::stod(svg.substr(svg.find("height=\"") + 8)); }

TEST(StackedChart, DrawsACurveOverItsAxes) {
  const std::string svg = draw(chart(1, CurveLook::kLine, {{0, 0}, {50, 5}, {100, 10}}));
  EXPECT_TRUE(svg.starts_with("<svg"));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  EXPECT_THAT(svg, HasSubstr("d=\"M88 340L530 240L972 140\""));
  for (const char* text : {">Loss<", ">a note<", ">nats<", ">steps<", ">100<", ">10<", ">a &lt; b<"})
    EXPECT_THAT(svg, HasSubstr(text));
}

TEST(StackedChart, LeavesGapsAndStaysInItsField) {
  const std::string svg = draw(chart(1, CurveLook::kFaint, {{-9, -5}, {50, kNothing}, {50, 5}, {1e9, 1e9}}));
  EXPECT_THAT(svg, HasSubstr("d=\"M88 340M530 240L972 140\""));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
  EXPECT_EQ(count(draw(chart(1, CurveLook::kFaint, {{50, kNothing}})), "<path"), 1U) << "the legend alone";
  EXPECT_EQ(count(draw(chart(1, CurveLook::kLine, {{50, 5}})), "<circle"), 1U) << "one point is a dot";
}

TEST(StackedChart, MarksAreOnThePointsAndDiamondsHaveNoLine) {
  const std::vector<ChartPoint> points = {{0, 0}, {50, 5}, {100, 10}};
  EXPECT_EQ(count(draw(chart(1, CurveLook::kCircles, points)), "<circle"), 3U + 1U);  // the legend's
  const std::string diamonds = draw(chart(1, CurveLook::kDiamonds, points));
  EXPECT_EQ(count(diamonds, "l7 7l-7 7l-7 -7z"), 3U + 1U);
  EXPECT_EQ(count(diamonds, "stroke-linejoin"), 0U);
}

TEST(StackedChart, NamesSeveralSeriesAndGivesEachAColorOfItsOwn) {
  const std::string one = draw(chart(1, CurveLook::kLine, {{0, 0}, {100, 10}}));
  EXPECT_THAT(one, Not(HasSubstr("run-0"))) << "the title says it";
  const std::string eight = draw(chart(8, CurveLook::kLine, {{0, 0}, {100, 10}}));
  std::set<std::string_view> colors;
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(count(eight, ">run-" + std::to_string(i) + "<"), 1U);
    colors.insert(series_color(i));
  }
  EXPECT_EQ(colors.size(), 8U);
  EXPECT_THAT(eight, Not(HasSubstr("stroke-dasharray")));
  EXPECT_THAT(draw(chart(9, CurveLook::kLine, {{0, 0}, {100, 10}})), HasSubstr("stroke-dasharray"));
}

TEST(StackedChart, ALongLegendTakesMoreLinesAndNotMoreWidth) {
  StackedChart some = chart(8, CurveLook::kLine, {{0, 0}, {100, 10}});
  const double low = height_of(draw(some));
  for (std::string& name : some.series) name += "-with-a-name-that-is-rather-long";
  const std::string svg = draw(some);
  EXPECT_GT(height_of(svg), low);
  EXPECT_THAT(svg, HasSubstr("width=\"1000\""));
}

TEST(StackedChart, MomentsOnOnePixelAreOneStrokeInThePartOfTheirSeries) {
  StackedChart two = chart(2, CurveLook::kLine, {{0, 0}, {100, 10}});
  const double without = height_of(draw(two));
  two.rows.push_back({"faults", {{1, {50, 50.001, 50.002, 75}}}});
  const std::string svg = draw(two);
  EXPECT_THAT(svg, HasSubstr(">faults<"));
  EXPECT_GT(height_of(svg), without);
  EXPECT_EQ(count(svg, "v7"), 2U);
}

TEST(StackedChart, RefusesWhatItCannotDraw) {
  EXPECT_THROW((void)draw(StackedChart{}), Bug);
  StackedChart wrong = chart(1, CurveLook::kLine, {});
  wrong.x.high = 0;
  EXPECT_THROW((void)draw(wrong), Bug);
  wrong = chart(1, CurveLook::kLine, {});
  wrong.series.clear();
  EXPECT_THROW((void)draw(wrong), Bug);
  wrong = chart(1, CurveLook::kLine, {});
  wrong.rows.push_back({"faults", {{1, {}}}});
  EXPECT_THROW((void)draw(wrong), Bug);
}

}  // namespace
}  // namespace shoal::stacked_chart_test
