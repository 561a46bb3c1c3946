// The table and the picture: differences on each side, and nothing of arms that are not finished.
#include "runtime/experiment/experiment_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace shoal::experiment_report_test {
namespace {

using testing::HasSubstr;
using testing::Not;

RunOutcome ended_with(double perplexity) {
  RunOutcome out;
  out.evaluations = {{10, std::log(perplexity) + 1, 3}, {20, std::log(perplexity), 2}};
  out.finished_step = 20;
  out.tokens = 1'500'000;
  out.rounds = 4;
  return out;
}

ExperimentAnswer answer_with(double base, double other) {
  ExperimentAnswer out;
  out.experiment.question = "Does it?";
  out.experiment.varied = "H";
  out.experiment.arms = {{"h10", "H = 10", {}, "", 20, 10}, {"h20", "H = 20", {}, "h10", 21, 20}};
  out.experiment.differences = {"The text."};
  out.steps = 20;
  out.command = "shoal experiment exp";
  out.outcomes = {ended_with(base), ended_with(other)};
  return out;
}

TEST(ExperimentReport, ComparesEachSideWithItself) {
  const std::string text = markdown_of(answer_with(4, 5), "exp.svg");
  EXPECT_THAT(text, HasSubstr("| H = 10 | 1.50 | 4 | 1.3863 | 2.0000 | 4.000 |  | 20.00 |  |\n"));
  EXPECT_THAT(text, HasSubstr("| H = 20 | 1.50 | 4 | 1.6094 | 2.0000 | 5.000 | +25.00 % | 21.00 | +5.00 % |\n"));
  EXPECT_THAT(text, HasSubstr("](exp.svg)"));
  EXPECT_THAT(text, HasSubstr("* The text.\n"));
  EXPECT_THAT(markdown_of(answer_with(5, 4), "exp.svg"), HasSubstr("| -20.00 % |"));  // against its base, not it
}

TEST(ExperimentReport, HasNoFiguresOfAnArmThatIsNotFinished) {
  ExperimentAnswer answer = answer_with(4, 5);
  answer.outcomes[0].finished_step.reset();
  const std::string text = markdown_of(answer, "exp.svg");
  EXPECT_THAT(text, HasSubstr("| H = 10 | not finished | | | | |  | 20.00 |  |\n"));
  EXPECT_THAT(text, Not(HasSubstr("+25.00 %")));
  EXPECT_THAT(text, HasSubstr("| 5.000 |  | 21.00 | +5.00 % |"));
}

TEST(ExperimentReport, HasAsManyCellsInEachRow) {
  ExperimentAnswer answer = answer_with(4, 5);
  answer.outcomes[1] = {};
  const std::string text = markdown_of(answer, "exp.svg");
  std::vector<std::ptrdiff_t> bars;
  for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) {
    if (text[at] == '|')
      bars.push_back(std::count(text.begin() + static_cast<std::ptrdiff_t>(at),
                                text.begin() + static_cast<std::ptrdiff_t>(text.find('\n', at)), '|'));
  }
  EXPECT_THAT(bars, testing::ElementsAre(10, 10, 10, 10));
}

TEST(ExperimentReport, DrawsLossesAndDifferences) {
  const Chart chart = chart_of(answer_with(4, 5));
  ASSERT_EQ(chart.panels.size(), 2U);
  ASSERT_EQ(chart.panels[0].curves.size(), 2U);
  EXPECT_EQ(chart.panels[0].curves[1].points.size(), 2U);
  const auto& differences = chart.panels[1].curves;
  ASSERT_EQ(differences.size(), 2U);
  ASSERT_EQ(differences[0].points.size(), 1U);
  EXPECT_NEAR(differences[0].points[0].y, 25, 1e-9);
  EXPECT_NEAR(differences[1].points[0].y, 5, 1e-9);
  EXPECT_EQ(differences[0].points[0].x, 20);
  EXPECT_THAT(draw(chart), HasSubstr("</svg>"));
}

TEST(ExperimentReport, DrawsAnExperimentThatHasNotBegun) {
  ExperimentAnswer answer = answer_with(4, 5);
  answer.outcomes = {{}, {}};
  answer.experiment.varied.reset();
  EXPECT_EQ(chart_of(answer).panels.size(), 1U);
  EXPECT_THAT(draw(chart_of(answer)), HasSubstr("</svg>"));
}

}  // namespace
}  // namespace shoal::experiment_report_test
