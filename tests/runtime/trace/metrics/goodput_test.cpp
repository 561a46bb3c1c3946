// Useful time by the lines of metrics.jsonl, with writers that died and went on, and steps that were trained twice.
#include "runtime/trace/metrics/goodput.h"

#include <gmock/gmock.h>

#include <cmath>
#include <fstream>
#include <map>
#include <random>

#include "runtime/trace/metrics/run_summary.h"
#include "runtime/trace/metrics/step_record.h"
#include "tests/runtime/data/scratch.h"

namespace shoal::goodput_test {
namespace {

std::string step_line(std::uint64_t step, double step_ms, std::uint32_t branch = 0, std::uint32_t retried = 0) {
  StepRecord record;
  record.branch = branch;
  record.step = step;
  record.tokens = 100;
  record.step_ms = step_ms;
  record.retried = retried;
  record.replicas = {2, 2};
  return to_json_line(record);
}

std::string event_line(RunEventKind kind) { return to_json_line(RunEvent{kind, "run", "a reason", 3}); }

struct Told {
  explicit Told(const std::vector<std::string>& lines = {}) {
    for (const std::string& line : lines) goodput.add(facts_of(line));
  }
  void steps(std::uint64_t begin, std::uint64_t end, double step_ms, std::uint32_t branch = 0) {
    for (std::uint64_t step = begin; step < end; ++step) goodput.add(facts_of(step_line(step, step_ms, branch)));
  }
  Goodput goodput;
};

TEST(Goodput, OfAnUndisturbedRunIsOne) {
  Told run({event_line(RunEventKind::kTraining)});
  run.steps(0, 100, 123.4);
  EXPECT_NEAR(run.goodput.of(100).value(), 1, 1e-9);
}

TEST(Goodput, CountsWhatAFaultCost) {
  Told run;
  run.steps(0, 5, 1000);
  run.goodput.add(facts_of(event_line(RunEventKind::kProcessLost)));
  run.steps(5, 6, 11000);
  run.steps(6, 10, 1000);
  EXPECT_NEAR(run.goodput.of(10).value(), 0.5, 1e-9) << "10 s of work in 20 s";
}

// 22 steps of a second are thrown away, the first one after them waited 42 s: 26 of 90 s are of use.
TEST(Goodput, CountsWhatARollBackToTheBeginningThrowsAway) {
  Told run({event_line(RunEventKind::kTraining)});
  run.steps(0, 22, 1000);
  run.goodput.add(facts_of(event_line(RunEventKind::kRolledBack)));
  run.steps(0, 1, 43000, 1);
  run.steps(1, 26, 1000, 1);
  EXPECT_NEAR(run.goodput.of(26).value(), 26.0 / 90.0, 1e-9);
}

TEST(Goodput, CountsAStepOnceThatTwoBranchesHave) {
  Told run;
  run.steps(0, 5, 1000);
  run.steps(2, 4, 1000, 1);
  EXPECT_NEAR(run.goodput.of(4).value(), 4.0 / 7.0, 1e-9) << "seven steps were trained, four count";
  run.steps(1, 3, 1000, 2);
  EXPECT_NEAR(run.goodput.of(3).value(), 3.0 / 9.0, 1e-9);
}

double sum_of(const GoodputLoss& loss) { return loss.first_steps + loss.eventful + loss.repeated + loss.uneven; }

// 20 s of steps of which each should take a second.
TEST(Goodput, SaysByPartsWhatItLacksToOne) {
  Told run({event_line(RunEventKind::kTraining)});
  run.steps(0, 1, 3000);
  run.steps(1, 6, 1000);
  run.goodput.add(facts_of(event_line(RunEventKind::kProcessLost)));
  run.steps(6, 7, 3500);
  run.goodput.add(facts_of(step_line(7, 2000, 0, 1)));
  run.steps(8, 9, 1500);
  run.steps(7, 9, 1000, 1);
  run.goodput.add(facts_of(event_line(RunEventKind::kStarted)));
  run.steps(9, 10, 3000);
  const GoodputLoss loss = run.goodput.loss_of(10).value();
  EXPECT_NEAR(loss.first_steps, 4, 1e-9) << "of two starts";
  EXPECT_NEAR(loss.eventful, 3.5, 1e-9);
  EXPECT_NEAR(loss.repeated, 2, 1e-9);
  EXPECT_NEAR(loss.uneven, 0.5, 1e-9);
  EXPECT_NEAR(run.goodput.of(10).value(), 1 - sum_of(loss) / 20, 1e-9);
  EXPECT_EQ(Told().goodput.loss_of(0), std::nullopt);
}

// The line of the last step before a death comes after the next start.
TEST(Goodput, AStepThatIsFilledInIsNotTheFirstOfAStart) {
  for (const bool is_filled : {true, false}) {
    Told run;
    run.steps(0, 5, 1000);
    run.goodput.add(facts_of(event_line(RunEventKind::kStarted)));
    StepRecord record;
    record.step = 5;
    record.tokens = 100;
    record.step_ms = 1000;
    record.is_filled = is_filled;
    run.goodput.add(facts_of(to_json_line(record)));
    run.steps(6, 7, 3000);
    run.steps(7, 12, 1000);
    EXPECT_NEAR(run.goodput.loss_of(12)->first_steps, is_filled ? 2 : 0, 1e-9);
    EXPECT_NEAR(run.goodput.loss_of(12)->uneven, is_filled ? 0 : 2, 1e-9);
  }
}

std::string eval_line(double eval_ms) {
  EvalRecord record;
  record.eval_ms = eval_ms;
  return to_json_line(record);
}

TEST(Goodput, DoesNotCountTheTimeOfEvaluations) {
  Told run;
  run.steps(0, 5, 1000);
  run.goodput.add(facts_of(eval_line(9000)));
  run.steps(5, 6, 10000);
  run.steps(6, 10, 1000);
  EXPECT_NEAR(run.goodput.of(10).value(), 1, 1e-9) << "the step had a second of its own";
  Told unknown;
  unknown.steps(0, 5, 1000);
  unknown.goodput.add(facts_of(eval_line(0)));
  unknown.steps(5, 6, 10000);
  EXPECT_LT(unknown.goodput.of(6).value(), 0.5) << "as a line of a version that did not say";
}

// The evaluation at the end of a run is in no step of the next start.
TEST(Goodput, AnEvaluationBeforeAStartIsInNoStepAfterIt) {
  Told run;
  run.steps(0, 5, 1000);
  run.goodput.add(facts_of(eval_line(2000)));
  run.goodput.add(facts_of(event_line(RunEventKind::kStarted)));
  run.steps(5, 10, 1000);
  EXPECT_NEAR(run.goodput.of(10).value(), 1, 1e-9);
}

// The run ends with the checkpoint that it would have gone on from.
TEST(Goodput, StepsBeyondTheWeightsAreOfNoUse) {
  Told run;
  run.steps(0, 8, 1000);
  EXPECT_NEAR(run.goodput.of(2).value(), 0.25, 1e-9);
}

TEST(Goodput, AStepWithRetriesIsNoYardstick) {
  Told run;
  for (std::uint64_t step = 0; step < 9; ++step) {
    const bool is_calm = step % 3 == 0;
    run.goodput.add(facts_of(step_line(step, is_calm ? 1000 : 4000, 0, is_calm ? 0 : 2)));
  }
  EXPECT_NEAR(run.goodput.of(9).value(), 9.0 / 27.0, 1e-9);
}

TEST(Goodput, IsNothingWhereNothingCanBeMeasured) {
  EXPECT_EQ(Told().goodput.of(0), std::nullopt);
  Told run;
  for (std::uint64_t step = 0; step < 5; ++step) {
    run.goodput.add(facts_of(event_line(RunEventKind::kCheckpoint)));
    run.goodput.add(facts_of(step_line(step, 1000)));
  }
  EXPECT_EQ(run.goodput.of(5), std::nullopt) << "something happened in every step";
  Told untimed;
  untimed.steps(0, 5, 0);
  EXPECT_EQ(untimed.goodput.of(5), std::nullopt);
}

TEST(Goodput, KnowsWhatWasTrainedInVain) {
  Told run;
  run.steps(0, 6, 1000);
  EXPECT_EQ(run.goodput.thrown_away(6), 0U);
  const std::uint64_t of_a_step = run.goodput.thrown_away(5);
  EXPECT_GT(of_a_step, 0U);
  run.steps(2, 6, 1000);
  run.steps(5, 7, 1000);
  EXPECT_EQ(run.goodput.thrown_away(7), 5 * of_a_step);
}

TEST(Goodput, RoundsArePartOfTraining) {
  Told run;
  for (std::uint64_t step = 0; step < 5; ++step) {
    run.goodput.add(facts_of(to_json_line(ViewRecord{step + 1, "stage 0", step, RunEventKind::kRound, "a mean"})));
    run.goodput.add(facts_of(
        to_json_line(RunEvent{RunEventKind::kRoundClosed, "round 1 of fragment 0 of stage 0", "without 3", step})));
    run.goodput.add(facts_of(step_line(step, 1000)));
  }
  EXPECT_NEAR(run.goodput.of(5).value(), 1, 1e-9);
}

TEST(Goodput, AStepThatNobodyTimedCountsNeitherWay) {
  Told run;
  run.steps(0, 4, 1000);
  run.steps(4, 6, 0);
  run.goodput.add(facts_of(step_line(6, std::nan(""))));
  run.steps(7, 10, 1000);
  EXPECT_NEAR(run.goodput.of(10).value(), 1, 1e-9);
}

// The step's microbatches were computed before the spawner died: by the time of its rest alone it would be free.
TEST(Goodput, AStepOfWhichAPartWasTimedCountsNeitherWay) {
  Told run;
  run.steps(0, 5, 1000);
  run.goodput.add(facts_of(event_line(RunEventKind::kResumed)));
  StepRecord record;
  record.step = 5;
  record.tokens = 100;
  record.step_ms = 34;
  record.is_partly_timed = true;
  run.goodput.add(facts_of(to_json_line(record)));
  run.goodput.add(facts_of(event_line(RunEventKind::kProcessLost)));
  run.steps(6, 7, 6000);
  run.steps(7, 11, 1000);
  EXPECT_NEAR(run.goodput.of(11).value(), 10.0 / 15.0, 1e-9);
}

TEST(Goodput, TornAndForeignLinesChangeNothing) {
  const std::string step = step_line(3, 50000);
  for (std::size_t cut = 0; cut < step.size(); ++cut) {
    Told run;
    run.steps(0, 3, 1000);
    run.goodput.add(facts_of(step.substr(0, cut)));
    run.goodput.add(facts_of(step.substr(0, cut) + (cut == 0 ? "" : step_line(3, 1000))));
    run.goodput.add(facts_of("not JSON"));
    run.goodput.add(facts_of("[1,2]"));
    run.goodput.add(facts_of(R"({"branch":"x","step":-1,"tokens":{},"step_ms":"long","retried":0})"));
    run.steps(3, 6, 1000);
    ASSERT_NEAR(run.goodput.of(6).value(), 1, 1e-9) << step.substr(0, cut);
  }
}

std::optional<double> goodput_of(SummaryReader&& reader, std::uint64_t steps) {
  return reader.read_all().goodput().of(steps);
}

TEST(SummaryReader, ReadsAllLinesThereAre) {
  const Scratch scratch;
  std::string text = event_line(RunEventKind::kTraining) + "\n";
  for (std::uint64_t step = 0; step < 10; ++step) text += step_line(step, step == 4 ? 11000 : 1000) + "\n";
  const std::string path = scratch.file("metrics.jsonl", text + step_line(10, 1000).substr(0, 40)).string();
  EXPECT_NEAR(goodput_of(SummaryReader(path), 10).value(), 0.5, 1e-9);
  EXPECT_EQ(goodput_of(SummaryReader("/nowhere/at/all"), 10), std::nullopt);
}

TEST(SummaryReader, ReadsPieceByPieceWhatIsAddedMeanwhile) {
  const Scratch scratch;
  const std::string path = scratch.file("metrics.jsonl", "").string();
  std::ofstream file(path, std::ios::app);
  for (std::uint64_t step = 0; step < 20; ++step) file << step_line(step, 1000) << '\n' << std::flush;
  SummaryReader reader(path);
  int pieces = 0;
  while (reader.read_on(4 * step_line(0, 1000).size())) ++pieces;
  EXPECT_THAT(pieces, testing::AllOf(testing::Ge(4), testing::Le(5)));

  const std::string last = step_line(20, 20000);
  file << last.substr(0, 40) << std::flush;
  EXPECT_FALSE(reader.read_on(1000)) << "no whole line";
  EXPECT_NEAR(reader.read_all().goodput().of(21).value(), 1, 1e-9);
  file << last.substr(40) << '\n' << std::flush;
  EXPECT_NEAR(reader.read_all().goodput().of(21).value(), 21.0 / 40.0, 1e-9);
  EXPECT_NEAR(reader.read_all().goodput().of(21).value(), 21.0 / 40.0, 1e-9) << "each line once";
}

// Steps are short here, and something else now and then takes the cores, or leaves them.
TEST(Goodput, IsNeverMoreThanOne) {
  Told unsteady;
  for (std::uint64_t step = 0; step < 10; ++step) unsteady.goodput.add(facts_of(step_line(step, step == 6 ? 3 : 19.5)));
  EXPECT_NEAR(unsteady.goodput.of(10).value(), 1, 1e-9) << "nothing disturbed it";
  Told quick;
  quick.steps(0, 5, 20);
  quick.goodput.add(facts_of(event_line(RunEventKind::kCheckpoint)));
  quick.steps(5, 6, 10);
  EXPECT_NEAR(quick.goodput.of(6).value(), 1, 1e-9) << "the step with an event in it was the quickest";
}

TEST(Goodput, ATroubleThatNoLineTellsOfCounts) {
  Told run;
  for (std::uint64_t step = 0; step < 10; ++step) run.goodput.add(facts_of(step_line(step, step == 6 ? 11000 : 1000)));
  EXPECT_NEAR(run.goodput.of(10).value(), 0.5, 1e-9) << "10 s of work in 20 s";
}

// A slow part and a quick one: the rates that are kept are of both, so their median is that of most of it.
TEST(Goodput, KeepsRatesOfAllOfALongRun) {
  Told run;
  for (std::uint64_t step = 0; step < 30000; ++step)
    run.goodput.add(facts_of(step_line(step, step < 10000 ? 1000 : 500)));
  EXPECT_NEAR(run.goodput.of(30000).value(), 15000.0 / 20000.0, 1e-9) << "the yardstick is the step of most of it";
}

// Against a book of every step.
TEST(Goodput, AgreesWithAddingUpEveryStep) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 100; ++round) {
    Told run;
    std::map<std::uint64_t, std::uint64_t> book;
    double wall_ms = 0;
    std::uint64_t step = 0;
    for (int line = 0; line < 60; ++line, ++step) {
      if (random() % 10 == 0) step = random() % (step + 1);
      StepRecord record;
      record.step = step;
      record.tokens = random() % 3 == 0 ? 80 : 100;
      record.step_ms = static_cast<double>(record.tokens) * 2;  // always the same rate
      run.goodput.add(facts_of(to_json_line(record)));
      book.erase(book.lower_bound(step), book.end());
      book[step] = record.tokens;
      wall_ms += record.step_ms;
    }
    double tokens = 0;
    for (const auto& [number, count] : book) tokens += static_cast<double>(count);
    EXPECT_NEAR(run.goodput.of(step).value(), tokens / (0.5 * wall_ms), 1e-9);
    EXPECT_NEAR(run.goodput.of(step).value(), 1 - sum_of(run.goodput.loss_of(step).value()) * 1000 / wall_ms, 1e-9);
  }
}

}  // namespace
}  // namespace shoal::goodput_test
