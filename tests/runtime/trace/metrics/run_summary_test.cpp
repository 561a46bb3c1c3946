// Tests where the time of a run went, by its lines. All moments are seconds after one.
#include "runtime/trace/metrics/run_summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "runtime/trace/metrics/summary_text.h"
#include "tests/runtime/trace/metrics/summary/told_run.h"

namespace shoal::run_summary_test {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using told::at;
using told::expect_time;
using told::ToldRun;

TEST(RunSummary, PutsEachSecondOfARunWhereItBelongs) {
  ToldRun run;
  run.event(RunEventKind::kStarted);
  run.now += 4;
  run.event(RunEventKind::kTraining);
  run.steps(0, 5);
  run.evaluation(2);
  run.step(5, 3);
  run.event(RunEventKind::kProcessLost, "node2");
  run.step(6, 6);
  run.steps(7, 10);
  run.evaluation(3);
  run.now += 3.5;
  const SummaryRecord summary = run.end(10);
  expect_time(summary.run, {4, 10, 5, 0.5, 5, 0});
  expect_time(summary.life, {4, 10, 5, 0.5, 5, 0});
  EXPECT_NEAR(summary.run.seconds, run.now, 2e-3) << "nothing is left over";
  EXPECT_EQ(summary.run.steps, 10U);
  EXPECT_EQ(summary.run.tokens, 1000U);
  EXPECT_NEAR(summary.run.goodput.value(), 10.0 / 15.0, 1e-6) << "ten seconds of use in fifteen of steps";
  EXPECT_EQ(summary.run.faults.processes, 1U);
}

// On a machine that is busy the line of the last step comes late.
TEST(RunSummary, ALineThatComesLateIsNoFault) {
  for (const bool has_pause : {false, true}) {
    ToldRun run;
    run.train(5);
    run.now += 0.5;
    if (has_pause) run.event(RunEventKind::kResumed, "spawner");
    run.step(5);
    expect_time(run.end(6).run, {0, has_pause ? 6 : 6.5, 0, 0, has_pause ? 0.5 : 0, 0});
    EXPECT_NEAR(run.end(6).run.seconds, run.now, 2e-3) << "nothing is left over";
  }
}

TEST(RunSummary, AddsUpTheBytesThatAreKnown) {
  ToldRun run;
  run.event(RunEventKind::kStarted);
  run.steps(0, 3);
  run.has_bytes = false;
  run.step(3);
  const SpanSummary span = run.end(4).run;
  EXPECT_EQ(span.bytes, (ByteCounts{30, 60, 90, 120, 150, 180}));
  EXPECT_EQ(span.uncounted_steps, 1U);
}

TEST(RunSummary, AddsUpAllCheckpoints) {
  ToldRun run;
  run.event(RunEventKind::kStarted);
  run.event(RunEventKind::kTraining);
  for (const std::uint64_t step : {0U, 1U}) {
    run.step(step);
    run.event(RunEventKind::kCheckpoint, "step", "1500 bytes in 0.25 s");
  }
  run.event(RunEventKind::kCheckpoint, "step", "complete on the disk; the spawner ended before it said so");
  const CheckpointSum saved = run.end(2).run.checkpoints;
  EXPECT_EQ(saved.count, 3U);
  EXPECT_EQ(saved.bytes, 3000U);
  EXPECT_NEAR(saved.seconds, 0.5, 1e-9);
}

TEST(RunSummary, CountsTheBytesOfACheckpointOnce) {
  ToldRun run;
  run.event(RunEventKind::kStarted);
  run.steps(0, 2);
  run.event(RunEventKind::kCheckpoint, "step_2", "1000 bytes in 1 s");
  EXPECT_EQ(run.end(2).run.bytes.checkpoint, 120U + 1000U) << "the last one of a start: no step's line has it";
  run.step(2);
  EXPECT_EQ(run.end(3).run.bytes.checkpoint, 180U) << "the step after it has it";
  run.event(RunEventKind::kCheckpoint, "step_3", "2000 bytes in 1 s");
  run.event(RunEventKind::kStarted);
  run.step(3);
  const SummaryRecord summary = run.end(4);
  EXPECT_EQ(summary.run.bytes.checkpoint, 240U + 2000U) << "the step is of another start";
  EXPECT_EQ(summary.life.bytes.checkpoint, 60U);
}

TEST(RunSummary, ACheckpointThatIsFoundAfterADeathWasSentByTheFormerStart) {
  ToldRun run;
  run.event(RunEventKind::kStarted);
  run.steps(0, 2);
  run.event(RunEventKind::kStarted);
  run.event(RunEventKind::kCheckpoint, "step_2", "1000 bytes in 1 s");
  run.event(RunEventKind::kTraining);
  run.step(2);
  const SummaryRecord summary = run.end(3);
  EXPECT_EQ(summary.run.bytes.checkpoint, 180U + 1000U);
  EXPECT_EQ(summary.life.bytes.checkpoint, 60U);
}

TEST(RunSummary, OneProcessSendsNoCheckpoint) {
  ToldRun run;
  run.has_bytes = false;
  run.event(RunEventKind::kStarted);
  run.step(0, 1, 0);
  run.event(RunEventKind::kCheckpoint, "step_1", "1000 bytes in 1 s");
  EXPECT_EQ(run.end(1).run.bytes.checkpoint, 0U);
}

TEST(RunSummary, AddsUpWhatWasLost) {
  ToldRun run;
  run.event(RunEventKind::kStarted);
  run.steps(0, 2);
  run.lost_tokens = 50;
  run.approximated = 1;
  run.step(2);
  run.event(RunEventKind::kStarted);
  run.step(3);
  SummaryRecord summary = run.end(4);
  EXPECT_EQ(summary.run.lost_tokens, 100U);
  EXPECT_EQ(summary.life.lost_tokens, 50U);
  EXPECT_EQ(summary.run.approximated, 2U);
  summary = run.summary.of(4, at(run.now), 130);
  EXPECT_EQ(summary.run.lost_tokens, 130U) << "with what is lost at the end";
  EXPECT_EQ(summary.life.lost_tokens, 80U) << "which is of this start";
  EXPECT_EQ(run.summary.of(4, at(run.now), 0).run.lost_tokens, 100U) << "lines stay true";
}

// The disk was full: some lines wait for it, and some are lost.
TEST(RunSummary, SaysWhatIsMissingBecauseNoLineTellsOfIt) {
  ToldRun run;
  run.train(5);
  EXPECT_EQ(run.end(5).untold_steps, 0U);
  EXPECT_THAT(summary_lines(run.end(5)), Not(Contains(HasSubstr("missing")))) << "the control";
  run.event(RunEventKind::kLinesLost, "metrics.jsonl", "31 lines before this one: No space left on device");
  run.event(RunEventKind::kLinesLost, "metrics.jsonl", "1 line before this one: No space left on device");
  run.steps(12, 20);
  const SummaryRecord summary = run.end(23);
  EXPECT_EQ(summary.run.steps, 13U);
  EXPECT_EQ(summary.untold_steps, 10U);
  EXPECT_EQ(summary.run.lines_lost, 32U);
  EXPECT_EQ(summary_lines(summary).back(),
            "  missing in these figures, because metrics.jsonl has no line of them: 10 of 23 steps and 32 lost lines");
  const auto json = nlohmann::json::parse(to_json_line(summary));
  EXPECT_EQ(json["untold_steps"], 10);
  EXPECT_EQ(json["run"]["lines_lost"], 32);
}

TEST(RunSummary, StepsThatWereRolledBackAreRepeated) {
  ToldRun run;
  run.event(RunEventKind::kStarted);
  run.steps(0, 8);
  run.event(RunEventKind::kRolledBack);
  run.step(4, 6);  // five of them a pause
  run.steps(5, 10);
  const SpanSummary span = run.end(10).run;
  expect_time(span, {0, 10, 0, 0, 5, 4});
  EXPECT_EQ(span.steps, 10U);
  EXPECT_EQ(span.faults.rollbacks, 1U);
}

// A spawner that is killed before the new branch has members begins it again, and says so again (P-29).
TEST(RunSummary, CountsARollBackOnceThatWasBegunAgain) {
  ToldRun run;
  run.train(8);
  const std::string failure = R"(node2: "bad_alloc", as branch 7 of the code: )";
  run.event(RunEventKind::kRolledBack, "run", failure + "from step 4 of 8 committed, as branch 1");
  run.event(RunEventKind::kRolledBack, "run", "from step 4 of 8 committed, as branch 1");
  run.event(RunEventKind::kRolledBack, "run", "from step 2 of 8 committed, as branch 1");
  run.steps(2, 8);
  EXPECT_EQ(run.end(8).run.faults.rollbacks, 1U);
  run.event(RunEventKind::kRolledBack, "run", "from step 4 of 8 committed, as branch 2");
  run.event(RunEventKind::kStarted);
  run.event(RunEventKind::kRolledBack, "run", "from step 4 of 8 committed, by one process, as branch 2");
  run.steps(4, 8);
  EXPECT_EQ(run.end(8).run.faults.rollbacks, 2U);
  EXPECT_EQ(run.end(8).life.faults.rollbacks, 1U);
  for (int i = 0; i < 2; ++i) run.event(RunEventKind::kRolledBack);
  EXPECT_EQ(run.end(8).run.faults.rollbacks, 4U) << "the control: words that name no branch";
}

TEST(RunSummary, ATimeWithoutASpawnerIsStalled) {
  ToldRun run;
  run.event(RunEventKind::kStarted);
  run.steps(0, 4);
  run.now += 7;
  run.event(RunEventKind::kResumed, "spawner");
  run.steps(4, 6);
  const SpanSummary span = run.end(6).run;
  expect_time(span, {0, 6, 0, 0, 7, 0});
  EXPECT_EQ(span.faults.spawners, 1U);
}

// Nobody serves a stage any more when a person stops the run, and nothing is saved that was not before.
TEST(RunSummary, ATimeWithoutAWorkerUpToAStopIsStalled) {
  for (const RunEventKind kind : {RunEventKind::kProcessLost, RunEventKind::kProcessLeft}) {
    ToldRun run;
    run.train(5);
    run.now += 1;
    run.event(kind, "node2");
    run.now += 60;
    run.event(RunEventKind::kStopping);
    run.now += 2;
    expect_time(run.end(5).run, {0, 5, 0, 2, 61, 0});
    EXPECT_NEAR(run.end(5).run.seconds, run.now, 2e-3) << "nothing is left over";
  }
}

// The controls: the step in progress ended after the stop, or nobody was missing.
TEST(RunSummary, ATimeUpToAStopIsNotStalledWhereStepsWentOnOrNobodyWasMissing) {
  for (const bool is_missing : {true, false}) {
    ToldRun run;
    run.train(5);
    if (is_missing) run.event(RunEventKind::kProcessLost, "node2");
    run.event(RunEventKind::kStopping);
    if (is_missing) run.step(5);
    run.now += 2;
    const std::uint64_t steps = is_missing ? 6 : 5;
    expect_time(run.end(steps).run, {0, static_cast<double>(steps), 0, 2, 0, 0});
  }
}

// A stage lost its last replica in the evaluation of the end, which begins again with a newcomer.
TEST(RunSummary, ATimeWithoutAWorkerInTheLastEvaluationIsStalled) {
  ToldRun run;
  run.train(5);
  run.now += 1;
  run.event(RunEventKind::kProcessLost, "node2");
  run.event(RunEventKind::kRolledBack);
  run.now += 60;
  run.event(RunEventKind::kTraining);
  run.evaluation(3);
  run.now += 3.5;
  expect_time(run.end(5).run, {0, 5, 3, 0.5, 61, 0});
  EXPECT_NEAR(run.end(5).run.seconds, run.now, 2e-3) << "nothing is left over";
}

TEST(RunSummary, ATimeWithoutASpawnerInTheLastEvaluationIsStalled) {
  for (const double evaluated_before : {0, 2}) {
    ToldRun run;
    run.train(5);
    if (evaluated_before > 0) run.evaluation(evaluated_before);
    run.now += evaluated_before + 7;
    run.event(RunEventKind::kResumed, "spawner");
    run.evaluation(3);
    run.now += 3.5;
    expect_time(run.end(5).run, {0, 5, evaluated_before + 3, 0.5, 7, 0});
    EXPECT_NEAR(run.end(5).run.seconds, run.now, 2e-3) << "nothing is left over";
  }
}

// The evaluation was before the spawner died, and the next step is timed from the new one's start.
TEST(RunSummary, AnEvaluationBeforeASpawnersDeathIsNotInTheStepAfterIt) {
  ToldRun run;
  run.train(4);
  run.evaluation(2);
  run.now += 2 + 5;
  run.event(RunEventKind::kResumed, "spawner");
  run.step(4, 0.5);
  run.step(5);
  expect_time(run.end(6).run, {0, 5.5, 2, 0, 5, 0});
}

// Steps 4 and 5 were committed, and the writer of their lines died; a person goes on after a while. They took two of
// the seconds before the death, one of which the last line before it knows of.
TEST(RunSummary, StepsThatAStartFindsInTheJournalAreTheFormerOnes) {
  ToldRun run;
  run.event(RunEventKind::kStarted);
  run.now += 2;
  run.event(RunEventKind::kTraining);
  run.steps(0, 4);
  run.now += 1;
  run.event(RunEventKind::kJoined, "node5");
  run.now += 1000;
  run.event(RunEventKind::kStarted);
  run.event(RunEventKind::kRound, "stage 0 fragment 0 round 1");
  run.event(RunEventKind::kCheckpoint, "step_4");
  run.filled_step(4);
  run.filled_step(5);
  run.now += 3;
  run.event(RunEventKind::kTraining);
  run.event(RunEventKind::kRound, "stage 0 fragment 0 round 2");
  run.steps(6, 10);
  const SummaryRecord summary = run.end(10);
  expect_time(summary.life, {3, 4, 0, 0, 0, 0});
  EXPECT_EQ(summary.life.steps, 4U);
  EXPECT_EQ(summary.life.tokens, 400U);
  EXPECT_EQ(summary.life.rounds, 1U);
  EXPECT_EQ(summary.life.checkpoints.count, 0U);
  EXPECT_EQ(summary.life.uncounted_steps, 0U);
  expect_time(summary.run, {5, 10, 0, 0, 0, 0});
  EXPECT_EQ(summary.run.steps, 10U);
  EXPECT_EQ(summary.run.rounds, 2U);
  EXPECT_EQ(summary.run.checkpoints.count, 1U);
  EXPECT_EQ(summary.run.uncounted_steps, 2U);
  EXPECT_NEAR(summary.run.seconds, 15, 2e-3);
}

TEST(RunSummary, StepsThatASpawnersSuccessorFindsAreOfTheSameStart) {
  ToldRun run;
  run.train(4);
  run.now += 4;
  run.filled_step(4);
  run.event(RunEventKind::kResumed, "spawner");
  run.steps(5, 7);
  const SpanSummary span = run.end(7).life;
  expect_time(span, {0, 7, 0, 0, 3, 0});
  EXPECT_EQ(span.steps, 7U);
}

// The pause between them counts nowhere; a resumed run goes on from its newest checkpoint.
TEST(RunSummary, TellsThisStartAndTheWholeRunApart) {
  ToldRun run;
  run.event(RunEventKind::kStarted);
  run.now += 2;
  run.steps(0, 6);
  run.now += 1;
  run.event(RunEventKind::kStopped);
  run.now += 1000;
  run.event(RunEventKind::kBranch, "lower");
  run.event(RunEventKind::kStarted);
  run.now += 3;
  run.event(RunEventKind::kResumed);
  run.steps(4, 9);
  const SummaryRecord summary = run.end(9);
  EXPECT_EQ(summary.starts, 2U);
  expect_time(summary.life, {3, 5, 0, 0, 0, 0});
  EXPECT_EQ(summary.life.steps, 5U);
  EXPECT_EQ(summary.life.tokens, 500U);
  expect_time(summary.run, {5, 9, 0, 1, 0, 2});
  EXPECT_EQ(summary.run.steps, 9U);
  EXPECT_NEAR(summary.run.seconds, 17, 2e-3);
}

// A step of one process waits for the evaluation and the saving before it.
TEST(RunSummary, OfOneProcessKnowsWhatCheckpointsTook) {
  ToldRun run;
  run.event(RunEventKind::kStarted);
  run.step(0, 1, 0);
  run.step(1, 1, 0);
  run.evaluation(2);
  run.wait_ms = 2500;
  run.step(2, 3.5, 0);
  expect_time(run.end(3).run, {0, 3, 2, 0.5, 0, 0});
}

TEST(RunSummary, OfLinesWithoutMomentsKnowsTheirSteps) {
  RunSummary summary;
  StepRecord record;
  record.tokens = 100;
  record.step_ms = 1000;
  for (record.step = 0; record.step < 5; ++record.step) summary.add(to_json_line(record));
  const SpanSummary span = summary.of(5, at(0)).run;
  EXPECT_NEAR(span.time.training, 5, 1e-9);
  EXPECT_NEAR(span.seconds, 5, 1e-9);
}

TEST(RunSummary, OfNothingIsNothing) {
  const SummaryRecord summary = RunSummary().of(0, at(5));
  EXPECT_EQ(summary.starts, 1U);
  EXPECT_EQ(summary.run.seconds, 0);
  EXPECT_EQ(summary.run.goodput, std::nullopt);
}

StepRecord second_long_step() {
  StepRecord record;
  record.tokens = 100;
  record.step_ms = 1000;
  record.view = 3;
  return record;
}

// Somebody sets the clock by an hour in a run of twenty seconds.
TEST(RunSummary, AClockThatWasSetMakesNoTime) {
  for (const bool is_told : {true, false}) {
    RunSummary summary;
    summary.add(with_time(to_json_line(RunEvent{RunEventKind::kStarted, "run", "", 0}), at(0)));
    StepRecord record = second_long_step();
    for (record.step = 0; record.step < 18; ++record.step) {
      const bool is_set = record.step >= 9;
      std::string line = to_json_line(record);
      if (is_told && record.step == 9) line = with_clock_set(std::move(line), 3'600'000);
      summary.add(with_time(std::move(line), at(3 + static_cast<double>(record.step) + (is_set ? 3600 : 0))));
    }
    const SpanSummary span = summary.of(18, at(20 + 3600)).run;
    EXPECT_NEAR(span.seconds, is_told ? 20 : 3620, 2e-3) << "or the control";
    if (is_told) expect_time(span, {2, 18, 0, 0, 0, 0});
  }
}

// Lines of the same run that come late: what one has too much, the next has too little.
TEST(RunSummary, LinesThatComeLateChangeNothing) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  RunSummary summary;
  summary.add(with_time(to_json_line(RunEvent{RunEventKind::kStarted, "run", "", 0}), at(0)));
  StepRecord record = second_long_step();
  for (record.step = 0; record.step < 50; ++record.step) {
    const double late = record.step == 49 ? 0 : 0.3 * static_cast<double>(random() % 1000) / 1000;
    summary.add(with_time(to_json_line(record), at(2 + static_cast<double>(record.step) + 1 + late)));
  }
  const SpanSummary span = summary.of(50, at(52)).run;
  EXPECT_NEAR(span.seconds, 52, 2e-3);
  EXPECT_NEAR(span.time.training, 50, 0.31) << "but for the first line's delay";
}

// The step's line waited for its reports while the evaluation was under way, which is timed from the commit.
TEST(RunSummary, AnEvaluationHasItsWholeTimeAlsoWhereTheLastStepsLineCameLate) {
  RunSummary summary;
  summary.add(with_time(to_json_line(RunEvent{RunEventKind::kStarted, "run", "", 0}), at(0)));
  StepRecord record = second_long_step();
  summary.add(with_time(to_json_line(record), at(1)));
  record.step = 1;
  summary.add(with_time(to_json_line(record), at(2.3)));
  EvalRecord evaluation;
  evaluation.eval_ms = 2000;
  summary.add(with_time(to_json_line(evaluation), at(4)));
  expect_time(summary.of(2, at(4)).run, {0, 2, 2, 0, 0, 0});
}

TEST(StepHistory, AgreesWithABookOfEveryStep) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 100; ++round) {
    StepHistory history;
    std::map<std::uint64_t, std::uint64_t> book;
    std::uint64_t step = 0;
    for (int line = 0; line < 200; ++line, ++step) {
      if (random() % 20 == 0) step -= std::min<std::uint64_t>(step, random() % 9);
      const std::uint64_t tokens = random() % 3 == 0 ? 90 : 100;
      book.erase(book.lower_bound(step), book.end());
      book[step] = tokens;
      history.add(step, tokens, 2.0 * static_cast<double>(tokens));
    }
    const std::uint64_t steps = random() % (step + 3);
    HistorySum expected;
    for (const auto& [one, tokens] : book) {
      if (one < steps) ++expected.steps, expected.tokens += tokens;
    }
    const HistorySum sum = history.up_to(steps);
    ASSERT_EQ(sum.steps, expected.steps);
    ASSERT_EQ(sum.tokens, expected.tokens);
    ASSERT_NEAR(sum.ms, 2.0 * static_cast<double>(expected.tokens), 1e-6);
  }
}

TEST(SummaryRecord, IsOneObjectWithTheSameKeysForBothSpans) {
  ToldRun run;
  run.event(RunEventKind::kStarted);
  run.steps(0, 3);
  const auto json = nlohmann::ordered_json::parse(to_json_line(run.end(3)));
  EXPECT_EQ(json["event"], "summary");
  EXPECT_EQ(json["steps"], 3);
  std::vector<std::string> keys;
  for (const auto& [key, value] : json["run"].items()) keys.push_back(key);
  EXPECT_EQ(keys,
            (std::vector<std::string>{"seconds", "steps", "tokens", "tokens_per_s", "training_tokens_per_s", "goodput",
                                      "goodput_lost_s", "time_s", "bytes", "uncounted_steps", "checkpoints", "rounds",
                                      "lost_tokens", "approximated", "lines_lost", "faults"}));
  EXPECT_EQ(json["run"].dump(), json["life"].dump());
  double sum = 0;
  for (const auto& part : json["run"]["time_s"]) sum += part.get<double>();
  EXPECT_NEAR(sum, json["run"]["seconds"].get<double>(), 4e-3);
}

TEST(SummaryText, SaysWhatThereIsAndWhatWasResumed) {
  ToldRun run;
  run.event(RunEventKind::kStarted);
  run.steps(0, 3);
  run.event(RunEventKind::kProcessLost);
  auto lines = summary_lines(run.end(3));
  ASSERT_EQ(lines.size(), 5U);
  EXPECT_EQ(lines[0], "[summary] the run: 3 steps, 300 tokens in 3.0s, 100 tok/s; 100 tok/s while it trained");
  EXPECT_EQ(lines[4], "  faults survived: 1 lost process");
  run.event(RunEventKind::kStarted);
  run.step(3);
  lines = summary_lines(run.end(4));
  ASSERT_EQ(lines.size(), 10U);
  EXPECT_THAT(lines[0], testing::StartsWith("[summary] this start: 1 step, 100 tokens"));
  EXPECT_THAT(lines[5], testing::StartsWith("[summary] the whole run, 2 starts: 4 steps, 400 tokens"));
  EXPECT_EQ(lines[4], "  faults survived: none");
}

TEST(SummaryText, SaysWhatWasLost) {
  ToldRun run;
  run.event(RunEventKind::kStarted);
  run.step(0);
  const auto is_of_losses = testing::HasSubstr("lost: ");
  EXPECT_THAT(summary_lines(run.end(1)), testing::Not(testing::Contains(is_of_losses))) << "nothing was";
  run.lost_tokens = 4096;
  run.approximated = 1;
  run.step(1);
  EXPECT_THAT(summary_lines(run.end(2)),
              testing::Contains("  lost: 4096 tokens that were trained and are not in the model; 1 microbatch "
                                "approximated"));
}

// A run without any fault: its first step is slow, and of few steps that is much.
TEST(SummaryText, SaysWhatGoodputLacksToOne) {
  ToldRun run;
  run.event(RunEventKind::kStarted);
  run.event(RunEventKind::kTraining);
  run.step(0, 4);
  run.steps(1, 10);
  EXPECT_THAT(
      summary_lines(run.end(10)),
      Contains("  goodput: 0.769 = tokens kept / (tok/s of undisturbed steps x time of all steps, without start "
               "and evaluations); lost to first steps 3.0s, steps with events 0.0s, roll-backs 0.0s, uneven "
               "steps 0.0s"));
  const auto json = nlohmann::json::parse(to_json_line(run.end(10)));
  EXPECT_EQ(json["run"]["goodput_lost_s"],
            (nlohmann::json{{"first_steps", 3}, {"eventful", 0}, {"repeated", 0}, {"uneven", 0}}));
  const auto nothing = nlohmann::json::parse(to_json_line(ToldRun().end(0)));
  EXPECT_TRUE(nothing["run"]["goodput_lost_s"]["first_steps"].is_null());
}

TEST(SummaryText, OfNoStepSaysNothingOfGoodput) {
  ToldRun run;
  run.event(RunEventKind::kStarted);
  EXPECT_THAT(summary_lines(run.end(0)), testing::Not(testing::Contains(testing::HasSubstr("goodput"))));
}

TEST(SummaryText, TellsCopiesAndCheckpointsApart) {
  ToldRun run;
  run.event(RunEventKind::kStarted);
  run.steps(0, 2);
  run.event(RunEventKind::kCheckpoint, "step_2", "2500000 bytes in 1.5 s");
  const auto lines = summary_lines(run.end(2));
  ASSERT_EQ(lines.size(), 6U);
  EXPECT_THAT(lines[3], testing::HasSubstr("copies of states 80B, checkpoints 2.5MB, control 100B"));
  EXPECT_EQ(lines[4], "  saved: 1 checkpoint, 2.5MB in 1.5s (pipelines train meanwhile)");
}

// Returns what the calls take of this thread's time, at the least of a few tries, which others disturb.
template <class Call>
double cpu_seconds(Call call) {
  double least = 1e9;
  for (int round = 0; round < 5; ++round) {
    timespec begin{}, end{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    call();
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
    least = std::min(least, static_cast<double>(end.tv_sec - begin.tv_sec) +
                                static_cast<double>(end.tv_nsec - begin.tv_nsec) * 1e-9);
  }
  return least;
}

// A spawner that starts reads all lines of a run in pieces, one with each line that it writes.
TEST(RunSummary, OfALongRunTakesNotMuchMoreThanToReadItsLines) {
  std::mt19937 random(7);
  std::vector<std::string> lines;
  for (std::uint64_t step = 0; step < 2000; ++step) {
    StepRecord record;
    record.step = step;
    record.tokens = 100;
    record.step_ms = 1 + static_cast<double>(random() % 1000) / 1000;
    record.view = step + 4;
    record.replicas = {2, 2};
    record.time.emplace();
    record.bytes.emplace();
    lines.push_back(with_time(to_json_line(record), at(static_cast<double>(step))));
  }
  RunSummary summary;
  const auto add_all = [&] {
    for (const std::string& line : lines) summary.add(line);
  };
  std::size_t read = 0;
  const double reading = cpu_seconds([&] {
    for (const std::string& line : lines) read += facts_of(line).index();
  });
  EXPECT_EQ(read, 5 * lines.size());
  for (int before = 0; before < 3; ++before) add_all();
  EXPECT_LT(cpu_seconds(add_all), 2 * reading);
}

}  // namespace
}  // namespace shoal::run_summary_test
