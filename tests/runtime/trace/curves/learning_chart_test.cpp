// Tests what a picture of runs shows: its axes, which curves, and the notes on what it does not.
#include "runtime/trace/curves/learning_chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace shoal::learning_chart_test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

RunSeries run_of(std::uint64_t steps, const std::string& name = "run") {
  RunSeries run;
  run.name = name;
  for (std::uint64_t i = 0; i < steps; ++i) {
    const double loss = 1.5 + 4 / (1 + static_cast<double>(i) / 10);
    run.steps.push_back({i + 1, 2048 * (i + 1), 2048, 0.25 * static_cast<double>(i + 1), 250, loss});
    if ((i + 1) % 10 == 0) run.evaluations.push_back({i + 1, loss + 0.1, false, 1280});
  }
  run.evaluations.push_back({steps, 2, true, 5468});
  run.moments.push_back({MomentKind::kFault, steps / 2, 0.125 * static_cast<double>(steps)});
  return run;
}

std::size_t curves_of(const StackedChart& chart, CurveLook look) {
  return static_cast<std::size_t>(std::ranges::count(chart.panels[0].curves, look, &StackedCurve::look));
}

TEST(LearningChart, ShowsLossValidationThroughputAndWhatHappened) {
  const StackedChart chart = learning_chart({run_of(100)}, PlotAxis::kSteps);
  EXPECT_EQ(chart.title, "run");
  EXPECT_EQ(chart.subtitle, "100 steps, 0.205 million tokens, final validation loss 2 (5468 windows)");
  EXPECT_EQ(chart.x.label, "steps");
  EXPECT_EQ(chart.x.high, 100);
  ASSERT_EQ(chart.panels.size(), 2U);
  EXPECT_THAT(chart.panels[0].note, IsEmpty());
  EXPECT_EQ(chart.panels[1].title, "Throughput");
  EXPECT_NEAR(chart.panels[1].curves[0].points[0].y, 8192, 1e-9);
  ASSERT_EQ(chart.rows.size(), 1U);
  EXPECT_EQ(chart.rows[0].label, "faults");
  EXPECT_EQ(chart.rows[0].moments[0].at.at(0), 50);
}

// Evaluations of different windows make no single curve.
TEST(LearningChart, NoCurveMixesTwoKindsOfEvaluation) {
  const StackedChart chart = learning_chart({run_of(100)}, PlotAxis::kSteps);
  EXPECT_EQ(curves_of(chart, CurveLook::kCircles), 1U);
  EXPECT_EQ(curves_of(chart, CurveLook::kDiamonds), 1U);
  for (const StackedCurve& curve : chart.panels[0].curves) {
    if (curve.look == CurveLook::kFaint) continue;
    EXPECT_EQ(curve.points.size(), curve.look == CurveLook::kCircles ? 10U : 1U);
  }
  ASSERT_EQ(chart.keys.size(), 3U);
  EXPECT_EQ(chart.keys[1].meaning, "periodic validation (1280 windows)");
  EXPECT_EQ(chart.keys[2].meaning, "final validation (5468 windows)");
  RunSeries other = run_of(50, "other");
  other.evaluations.back().windows = 7;
  EXPECT_THAT(learning_chart({run_of(100), other}, PlotAxis::kSteps).keys[2].meaning, HasSubstr("different windows"));
}

TEST(LearningChart, GoesByStepsTokensOrTime) {
  EXPECT_EQ(plot_axis_named("tokens"), PlotAxis::kTokens);
  EXPECT_EQ(plot_axis_named("time"), PlotAxis::kTime);
  EXPECT_EQ(plot_axis_named("epochs"), std::nullopt);
  const StackedChart tokens = learning_chart({run_of(1000)}, PlotAxis::kTokens);
  EXPECT_EQ(tokens.x.label, "tokens, millions");
  EXPECT_NEAR(tokens.x.high, 2.048, 1e-9);
  EXPECT_NEAR(tokens.rows[0].moments[0].at.at(0), 1.024, 1e-9);
  const StackedChart time = learning_chart({run_of(1000)}, PlotAxis::kTime);
  EXPECT_EQ(time.x.label, "training time, minutes");
  EXPECT_NEAR(time.x.high, 250.0 / 60, 1e-9);
  EXPECT_NEAR(time.panels[0].curves[1].points.back().x, 250.0 / 60, 1e-9) << "an evaluation lies with its last step";
}

TEST(LearningChart, ThinsALongRun) {
  const StackedChart chart = learning_chart({run_of(50000)}, PlotAxis::kSteps);
  EXPECT_LE(chart.panels[0].curves[0].points.size(), 1200U);
  EXPECT_LE(chart.panels[1].curves[0].points.size(), 150U);
  EXPECT_EQ(chart.panels[1].title, "Throughput, mean of 334 steps");
  EXPECT_LT(draw(chart).size(), 200000U);
  EXPECT_EQ(learning_chart({run_of(5)}, PlotAxis::kSteps).panels[0].curves[0].points.size(), 5U);
}

TEST(LearningChart, NamesSeveralRunsAndReachesAsFarAsTheLongest) {
  std::vector<RunSeries> runs;
  for (std::uint64_t i = 1; i <= 8; ++i) runs.push_back(run_of(20 * i, "run-" + std::to_string(i)));
  const StackedChart chart = learning_chart(runs, PlotAxis::kSteps);
  EXPECT_EQ(chart.title, "8 runs");
  EXPECT_EQ(chart.series.size(), 8U);
  EXPECT_EQ(chart.x.high, 160);
  EXPECT_EQ(curves_of(chart, CurveLook::kFaint), 8U);
}

// A short run beside a long one has the curve that it has alone.
TEST(LearningChart, EachOfSeveralRunsHasMeansOfItsOwn) {
  const auto throughput = [](const std::vector<RunSeries>& runs) {
    return learning_chart(runs, PlotAxis::kSteps).panels[1];
  };
  RunSeries waves = run_of(60, "short");
  for (std::size_t i = 0; i < 60; ++i) waves.steps[i].step_ms = 200 + 100 * static_cast<double>(i % 2);
  const StackedPanel both = throughput({run_of(90000, "long"), waves});
  const std::vector<ChartPoint> alone = throughput({waves}).curves[0].points;
  EXPECT_EQ(both.title, "Throughput, mean of 1 to 600 steps");
  EXPECT_EQ(both.curves[0].points.size(), 150U);
  EXPECT_EQ(both.curves[0].points[0].x, 600);
  ASSERT_EQ(both.curves[1].points.size(), 60U) << "600 of its steps would be one point";
  for (std::size_t i = 0; i < 60; ++i) {
    EXPECT_EQ(both.curves[1].points[i].x, alone[i].x);
    EXPECT_EQ(both.curves[1].points[i].y, alone[i].y);
  }
  EXPECT_EQ(throughput({run_of(900), run_of(840)}).title, "Throughput, mean of 6 steps");
}

TEST(LearningChart, RunsOfVeryUnequalSpeedShareALogarithmicAxis) {
  RunSeries quick = run_of(20, "quick");
  for (SeriesStep& step : quick.steps) step.tokens *= 1000;
  const StackedPanel panel = learning_chart({run_of(20, "slow"), quick}, PlotAxis::kSteps).panels[1];
  EXPECT_EQ(panel.y.label, "million tokens/s");
  EXPECT_EQ(panel.y.scale, AxisScale::kLogarithmic);
  EXPECT_NEAR(placed(panel.y, panel.curves[0].points[0].y), 0, 0.01) << "the slow run is at the low end";
  EXPECT_NEAR(placed(panel.y, panel.curves[1].points[0].y), 1, 0.01);
  RunSeries twice = run_of(20, "twice");
  for (SeriesStep& step : twice.steps) step.tokens *= 2;
  const StackedPanel alike = learning_chart({run_of(20, "once"), twice}, PlotAxis::kSteps).panels[1];
  EXPECT_EQ(alike.y.scale, AxisScale::kLinear);
  EXPECT_EQ(alike.y.low, 0);
}

TEST(LearningChart, ASkippedStepIsAGapAndAMoment) {
  RunSeries run = run_of(20);
  run.steps[4].loss = 15000;
  run.steps[4].is_skipped = true;
  run.moments.push_back({MomentKind::kSkip, 5, 1.25});
  const StackedChart chart = learning_chart({run}, PlotAxis::kSteps);
  EXPECT_TRUE(std::isnan(chart.panels[0].curves[0].points[4].y));
  EXPECT_LT(chart.panels[0].y.high, 10);
  EXPECT_EQ(chart.panels[0].note, "1 skipped step left out");
  EXPECT_THAT(chart.subtitle, HasSubstr("20 steps, 0.041 million tokens, 1 of them skipped"));
  ASSERT_EQ(chart.rows.size(), 2U);
  EXPECT_EQ(chart.rows[1].label, "skipped");
  run.steps[4].is_skipped = false;
  EXPECT_THAT(learning_chart({run}, PlotAxis::kSteps).panels[0].note, HasSubstr("1 loss above"));
}

// It would be drawn at the end, where nothing happened.
TEST(LearningChart, WhatHappenedInAbandonedStepsBeyondTheEndIsNotDrawnAtTheEnd) {
  RunSeries run = run_of(20);
  run.abandoned = 300;
  run.moments = {{MomentKind::kFault, 15, 4, true}, {MomentKind::kFault, 300, 75, true}};
  const StackedChart chart = learning_chart({run}, PlotAxis::kSteps);
  ASSERT_EQ(chart.rows.size(), 1U);
  EXPECT_EQ(chart.rows[0].moments[0].at, std::vector<double>{15});
  EXPECT_EQ(chart.panels[0].note, "1 event of abandoned steps left out");
  EXPECT_THAT(chart.subtitle, HasSubstr("300 abandoned steps not drawn"));
  const StackedChart by_time = learning_chart({run}, PlotAxis::kTime);
  EXPECT_EQ(by_time.rows[0].moments[0].at.size(), 2U) << "time goes on";
  EXPECT_THAT(by_time.panels[0].note, IsEmpty());
}

TEST(LearningChart, SaysWhatItCutsOff) {
  RunSeries diverged = run_of(100);
  diverged.steps[98].loss = 5.5e28;
  diverged.steps[99].loss = std::numeric_limits<double>::quiet_NaN();
  const StackedPanel panel = learning_chart({diverged}, PlotAxis::kSteps).panels[0];
  EXPECT_EQ(panel.note, "1 loss above 8.25 (up to 5.5e28) drawn at the edge; 1 step without a finite loss left out");
  EXPECT_EQ(panel.y.high, 8.25);
}

TEST(LossRange, HoldsEverythingOfARunThatLearns) {
  const LossRange range = loss_range({5.5, 4, 2, 1.5}, {5.5});
  EXPECT_EQ(range.beyond, 0U);
  EXPECT_LT(range.low, 1.5);
  EXPECT_GT(range.high, 5.5);
  EXPECT_LT(loss_range({}, {}).low, loss_range({}, {}).high);
  EXPECT_LT(loss_range({2, 2}, {2}).low, loss_range({2, 2}, {2}).high);
}

// This holds also where most of a run is divergence.
TEST(LossRange, EndsAboveWhatARunBeganWith) {
  const LossRange range = loss_range({5, 4, 1e9, 1e10, 1e30}, {5});
  EXPECT_EQ(range.beyond, 3U);
  EXPECT_EQ(range.largest, 1e30);
  EXPECT_EQ(range.high, 30) << "20 at most are taken for a beginning";
  EXPECT_EQ(loss_range({5, 4, 3, 1e10}, {5}).high, 7.5);
}

}  // namespace
}  // namespace shoal::learning_chart_test
