// Tests what the lines of metrics.jsonl mean for a picture.
#include "runtime/trace/curves/run_series.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "runtime/trace/metrics/metrics_lines.h"
#include "runtime/trace/metrics/step_record.h"
#include "tests/runtime/data/scratch.h"

namespace shoal::run_series_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string step(std::uint64_t number, double loss) {
  StepRecord record;
  record.step = number;
  record.loss = loss;
  record.tokens = 100;
  record.tokens_total = 100 * (number + 1);
  record.step_ms = 500;
  return to_json_line(record) + "\n";
}

std::string eval(std::uint64_t applied, double loss, bool is_final = false) {
  return to_json_line(EvalRecord{applied, loss, 1, false, is_final, is_final ? 99U : 9U, 1000}) + "\n";
}

std::string event(RunEventKind kind, const std::string& subject, std::uint64_t applied) {
  return to_json_line(RunEvent{kind, subject, "why", applied}) + "\n";
}

Result<RunSeries> read(const std::string& text) {
  const Scratch scratch;
  return read_run_series(scratch.file("metrics.jsonl", text).string());
}

std::vector<double> losses_of(const RunSeries& run) {
  std::vector<double> losses;
  for (const SeriesStep& one : run.steps) losses.push_back(one.loss);
  return losses;
}

std::vector<std::uint64_t> evaluated(const RunSeries& run) {
  std::vector<std::uint64_t> steps;
  for (const SeriesEvaluation& one : run.evaluations) steps.push_back(one.applied);
  return steps;
}

TEST(RunSeries, HasStepsWithTheirTokensAndTheTimeSoFar) {
  const auto run = read(step(0, 5) + step(1, 4));
  ASSERT_TRUE(run.ok());
  ASSERT_EQ(run->steps.size(), 2U);
  EXPECT_EQ(run->steps[1].applied, 2U);
  EXPECT_EQ(run->steps[1].tokens_total, 200U);
  EXPECT_DOUBLE_EQ(run->steps[1].elapsed_s, 1.0);
  EXPECT_EQ(run->abandoned, 0U);
}

TEST(RunSeries, OfAStepThatWasTrainedAgainTheLastLifeCounts) {
  const std::string before = step(0, 5) + step(1, 4) + eval(2, 4.5) + step(2, 3) + step(3, 2) + eval(4, 2.5);
  const auto run =
      read(before + event(RunEventKind::kRolledBack, "run", 2) + step(2, 3.5) + step(3, 2.75) + eval(4, 2.25));
  ASSERT_TRUE(run.ok());
  EXPECT_THAT(losses_of(*run), ElementsAre(5, 4, 3.5, 2.75));
  EXPECT_THAT(evaluated(*run), ElementsAre(2U, 4U));
  EXPECT_EQ(run->evaluations[1].loss, 2.25);
  EXPECT_EQ(run->abandoned, 2U);
  EXPECT_DOUBLE_EQ(run->steps.back().elapsed_s, 3.0) << "the time of the former life was spent";
  const auto without_event = read(before + step(2, 3.5));
  EXPECT_THAT(losses_of(*without_event), ElementsAre(5, 4, 3.5));
  EXPECT_THAT(evaluated(*without_event), ElementsAre(2U));
}

// The step is where the run goes on, and it says so before it has trained any of it again.
TEST(RunSeries, StepsBehindWhichTheRunWentBackAreNotItsOwn) {
  const std::string left = step(0, 5) + step(1, 4) + event(RunEventKind::kCheckpoint, "step_2", 2) + step(2, 3) +
                           event(RunEventKind::kInjected, "node2", 3) + event(RunEventKind::kCheckpoint, "step_3", 3);
  const auto run = read(left + event(RunEventKind::kRolledBack, "run", 2) + event(RunEventKind::kJoined, "node2", 3));
  ASSERT_TRUE(run.ok());
  EXPECT_THAT(losses_of(*run), ElementsAre(5, 4));
  EXPECT_EQ(run->abandoned, 1U);
  ASSERT_EQ(run->moments.size(), 4U) << "the checkpoint of step 3 was left, the fault happened";
  EXPECT_EQ(run->moments[1].kind, MomentKind::kFault);
  EXPECT_TRUE(run->moments[1].is_abandoned);
  EXPECT_EQ(run->moments[2].kind, MomentKind::kReturn);
  EXPECT_EQ(run->moments[3].applied, 2U) << "it joins the run where that is now";
  EXPECT_FALSE(run->moments[3].is_abandoned);
  const auto control = read(left);
  EXPECT_THAT(losses_of(*control), ElementsAre(5, 4, 3));
  EXPECT_FALSE(control->moments[1].is_abandoned);
  EXPECT_EQ(control->moments.size(), 3U);
}

TEST(RunSeries, ASkippedStepIsMarkedOnce) {
  StepRecord record;
  record.step = 1;
  record.loss = 15000;
  record.skipped = "the gradient of lm_head.weight is not finite";
  const auto run =
      read(step(0, 5) + event(RunEventKind::kStepSkipped, "run", 1) + to_json_line(record) + "\n" + step(2, 4));
  ASSERT_EQ(run->steps.size(), 3U);
  EXPECT_FALSE(run->steps[0].is_skipped);
  EXPECT_TRUE(run->steps[1].is_skipped);
  ASSERT_EQ(run->moments.size(), 1U);
  EXPECT_EQ(run->moments[0].kind, MomentKind::kSkip);
  EXPECT_EQ(run->moments[0].applied, 2U);
}

// The line of the last step waits for reports, the evaluation does not.
TEST(RunSeries, AnEvaluationMayStandBeforeTheLineOfItsLastStep) {
  const auto run = read(step(0, 5) + eval(2, 4.5) + step(1, 4) + step(2, 3));
  EXPECT_THAT(evaluated(*run), ElementsAre(2U));
}

TEST(RunSeries, TellsTheKindsOfEvaluationsApart) {
  const auto run = read(step(0, 5) + eval(1, 4, true) + eval(1, 3));
  ASSERT_EQ(run->evaluations.size(), 2U);
  EXPECT_TRUE(run->evaluations[0].is_final);
  EXPECT_EQ(run->evaluations[0].windows, 99U);
  EXPECT_FALSE(run->evaluations[1].is_final);
  const std::string old = R"({"event":"eval","step":1,"val_loss":2})"
                          "\n";
  EXPECT_FALSE(read(step(0, 5) + old)->evaluations[0].is_final);
  EXPECT_TRUE(read(step(0, 5) + old + "{\"event\":\"finished\",\"steps\":1}\n")->evaluations[0].is_final);
}

TEST(RunSeries, HasMomentsOfEachKind) {
  const auto run = read(
      step(0, 5) + event(RunEventKind::kInjected, "node2", 1) + event(RunEventKind::kJoined, "node2", 1) +
      event(RunEventKind::kResumed, "run", 1) + event(RunEventKind::kRound, "stage 0 fragment 0 round 1", 1) +
      event(RunEventKind::kRound, "stage 1 fragment 0 round 1", 1) + event(RunEventKind::kCheckpoint, "step_1", 1) +
      event(RunEventKind::kBranch, "lower", 1) + event(RunEventKind::kStopping, "run", 1));
  std::vector<MomentKind> kinds;
  for (const SeriesMoment& moment : run->moments) kinds.push_back(moment.kind);
  EXPECT_THAT(kinds, ElementsAre(MomentKind::kFault, MomentKind::kJoin, MomentKind::kReturn, MomentKind::kRound,
                                 MomentKind::kCheckpoint, MomentKind::kBranch));
}

// The run is on the branch from the branch's line on, also before it has a step.
TEST(RunSeries, WhatABranchLeavesBehindIsNotOfTheRun) {
  const auto run = read(step(0, 5) + step(1, 4) + step(2, 9) + eval(3, 9) + event(RunEventKind::kBranch, "lower", 2));
  EXPECT_THAT(losses_of(*run), ElementsAre(5, 4));
  EXPECT_THAT(evaluated(*run), ElementsAre());
  ASSERT_EQ(run->moments.size(), 1U);
  EXPECT_EQ(run->moments[0].applied, 2U);
}

// The step's microbatches were computed before: by the time that its line has, it would be the quickest of all.
TEST(RunSeries, TheTimeOfAStepInWhichTheSpawnerWasStartedAgainIsNotKnown) {
  const auto run = read(step(0, 5) + event(RunEventKind::kResumed, "spawner", 1) + step(1, 4) + step(2, 3));
  ASSERT_EQ(run->steps.size(), 3U);
  EXPECT_EQ(run->steps[0].step_ms, 500);
  EXPECT_EQ(run->steps[1].step_ms, 0);
  EXPECT_EQ(run->steps[2].step_ms, 500);
  EXPECT_DOUBLE_EQ(run->steps[2].elapsed_s, 1.5);
}

TEST(RunSeries, TheTimeOfAStepWhoseLineHasNoRateIsNotKnown) {
  StepRecord record;
  record.step = 1;
  record.tokens = 100;
  record.step_ms = 34;
  record.is_partly_timed = true;
  const auto run = read(step(0, 5) + to_json_line(record) + "\n" + step(2, 3));
  ASSERT_EQ(run->steps.size(), 3U);
  EXPECT_EQ(run->steps[1].step_ms, 0);
  EXPECT_EQ(run->steps[2].step_ms, 500);
}

TEST(RunSeries, ALossThatIsNotFiniteIsNoNumber) {
  const auto run = read(step(0, std::numeric_limits<double>::infinity()));
  EXPECT_TRUE(std::isnan(run->steps.at(0).loss));
}

TEST(RunSeries, ADamagedLineIsLeftOutAndCounted) {
  const auto damaged = read(step(0, 5) + "{\"step\":1,\"lo\n" + step(2, 3));
  ASSERT_TRUE(damaged.ok());
  EXPECT_THAT(losses_of(*damaged), ElementsAre(5, 3));
  EXPECT_EQ(text_of(damaged->damaged), "line 2 is damaged and left out");
  const std::string too_long(kLineBytesMax + 100, 'x');
  const auto more = read(step(0, 5) + too_long + "\n" + step(1, 4) + "7\n" + step(2, 3));
  EXPECT_THAT(losses_of(*more), ElementsAre(5, 4, 3));
  EXPECT_EQ(text_of(more->damaged), "2 damaged lines are left out, the first is line 2");
  EXPECT_EQ(read(step(0, 5) + "{\"step\":1,\"lo")->damaged.count, 0U) << "a line that is being written";
}

TEST(RunSeries, OfAFileWithoutAStepThereAreNoneAndItIsNamed) {
  const auto nothing = read("{\"step\":1,\"lo\n");
  ASSERT_FALSE(nothing.ok());
  EXPECT_EQ(nothing.failure().error, Error::kInvalidData);
  EXPECT_THAT(nothing.failure().message, HasSubstr("metrics.jsonl tells of no step yet"));
  EXPECT_THAT(nothing.failure().message, HasSubstr("line 1 is damaged"));
  const auto empty = read(event(RunEventKind::kJoined, "node1", 0));
  ASSERT_FALSE(empty.ok());
  EXPECT_THAT(empty.failure().message, HasSubstr("no step yet"));
  const auto missing = read_run_series("/nowhere/metrics.jsonl");
  EXPECT_EQ(missing.failure().error, Error::kIo);
  EXPECT_THAT(missing.failure().message, HasSubstr("/nowhere/metrics.jsonl"));
}

}  // namespace
}  // namespace shoal::run_series_test
