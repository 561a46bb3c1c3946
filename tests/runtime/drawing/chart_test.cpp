// Tests what of a chart is drawn, and that it is an SVG whatever the values are.
#include "runtime/drawing/chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "runtime/base/ensure.h"

namespace shoal::chart_test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

Chart chart(std::vector<ChartPoint> points) {
  ChartPanel panel{"panel", {"Gbit/s", 0.1, 1000, AxisScale::kLogarithmic}, {"share", 0, 100, AxisScale::kLinear}, {}};
  panel.curves.push_back({"a < b", std::move(points), false});
  return {"title", "subtitle", {std::move(panel)}};
}

std::size_t count(const std::string& text, const std::string& word) {
  std::size_t times = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++times;
  return times;
}

TEST(Chart, DrawsACurveOverItsAxes) {
  const std::string svg = draw(chart({{0.1, 0}, {10, 50}, {1000, 100}}));
  EXPECT_TRUE(svg.starts_with("<svg"));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  EXPECT_THAT(svg, HasSubstr("d=\"M80 388L262 258L444 128\""));
  for (const char* tick : {">0.1<", ">1<", ">10<", ">100<", ">1000<", ">20<", ">80<"})
    EXPECT_THAT(svg, HasSubstr(tick));
  EXPECT_THAT(svg, Not(HasSubstr(">-0<")));
  EXPECT_THAT(svg, HasSubstr("a &lt; b"));
  EXPECT_THAT(svg, Not(HasSubstr("a < b")));
}

TEST(Chart, LeavesGapsAndStaysInItsField) {
  const std::string svg = draw(chart({{0.001, -5}, {10, kNothing}, {10, 50}, {1e9, 1e9}}));
  EXPECT_THAT(svg, HasSubstr("d=\"M80 388M262 258L444 128\""));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
}

TEST(Chart, GivesANameOneColorInAllPanels) {
  Chart two = chart({{1, 1}, {2, 2}});
  two.panels.push_back(two.panels[0]);
  two.panels[1].curves.push_back({"other", {{1, 3}, {2, 4}}, true});
  const std::string svg = draw(two);
  EXPECT_EQ(count(svg, ">a &lt; b<"), 1U);
  EXPECT_EQ(count(svg, "stroke=\"#4a90d9\""), 3U);  // the legend and two curves
  EXPECT_EQ(count(svg, "stroke-dasharray"), 2U);
}

// The end of the legend's last entry, and of the title, as a reader with ordinary fonts sees them.
TEST(Chart, IsAsWideAsItsTitleAndItsLegend) {
  const auto width = [](const std::string& svg) { return std::stod(svg.substr(svg.find("width=\"") + 7)); };
  const double usual = width(draw(chart({{1, 1}, {2, 2}})));
  Chart titled = chart({{1, 1}, {2, 2}});
  titled.title = "Does it learn as well as the other one, synchronising 50 times less often?";
  EXPECT_GT(width(draw(titled)), 700);
  Chart crowded = chart({{1, 1}, {2, 2}});
  for (int i = 0; i < 6; ++i) {
    crowded.panels[0].curves.push_back({"a rather long name " + std::to_string(i), {{1, 1}, {2, 2}}, false});
  }
  EXPECT_GT(width(draw(crowded)), usual + 400);
  EXPECT_THAT(draw(crowded), HasSubstr("<line x1=\"80\" y1=\"128\"")) << "the panel begins where it did";
}

// The name of a run is that of its directory, which may hold any bytes.
TEST(Chart, IsXmlWhateverANameHolds) {
  Chart named = chart({{1, 1}, {2, 2}});
  named.title = "caf\xE9 \xC3\xA9 <&>\" \x01\x1B \xED\xA0\x80 \xEF\xBF\xBF end";
  EXPECT_THAT(draw(named), HasSubstr("caf? \xC3\xA9 &lt;&amp;&gt;&quot; ?? ??? ? end"));
}

TEST(Chart, RefusesAxesWithoutExtent) {
  EXPECT_THROW((void)draw(Chart{}), Bug);
  Chart wrong = chart({});
  wrong.panels[0].x.low = 0;
  EXPECT_THROW((void)draw(wrong), Bug);
  wrong = chart({});
  wrong.panels[0].y.high = 0;
  EXPECT_THROW((void)draw(wrong), Bug);
}

}  // namespace
}  // namespace shoal::chart_test
