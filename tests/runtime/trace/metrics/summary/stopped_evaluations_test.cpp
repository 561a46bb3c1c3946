// An evaluation that a stop breaks off has no line of its own: its time is what no other line accounts for.
#include <gtest/gtest.h>

#include "tests/runtime/trace/metrics/summary/told_run.h"

namespace shoal::stopped_evaluations_test {
namespace {

using told::expect_time;
using told::ToldRun;

// The checkpoint is saved meanwhile.
TEST(StoppedEvaluations, AreTheTimeFromTheLastStepToTheStop) {
  ToldRun run;
  run.train(5);
  run.now += 1;
  run.event(RunEventKind::kCheckpoint, "step_5", "1000 bytes in 1.0 s");
  run.now += 59;
  run.event(RunEventKind::kStopping);
  run.now += 2;
  expect_time(run.end(5).run, {0, 5, 60, 2, 0, 0});
  EXPECT_NEAR(run.end(5).run.seconds, run.now, 2e-3) << "nothing is left over";
}

// The control: it had ended, and what the stop found was the wait for the checkpoint.
TEST(StoppedEvaluations, AreNoneWhereTheLastOneHadEnded) {
  ToldRun run;
  run.train(5);
  run.evaluation(3);
  run.now += 10;
  run.event(RunEventKind::kStopping);
  run.now += 2;
  expect_time(run.end(5).run, {0, 5, 3, 9, 0, 0});
}

// One process saves before its last evaluation, and after a periodic one that a stop breaks off. No line says when it
// was told to stop.
TEST(StoppedEvaluations, OfOneProcessAreTheTimeThatItDidNotSave) {
  for (const bool is_last : {true, false}) {
    ToldRun run;
    run.event(RunEventKind::kStarted);
    for (std::uint64_t step = 0; step < 5; ++step) run.step(step, 1, 0);
    run.now += is_last ? 2 : 62;
    run.event(RunEventKind::kCheckpoint, "step_5", "1000 bytes in 2.0 s");
    run.now += is_last ? 60 : 0;
    expect_time(run.end(5).run, {0, 5, 60, 2, 0, 0});
  }
  ToldRun waiting;
  waiting.event(RunEventKind::kStarted);
  for (std::uint64_t step = 0; step < 5; ++step) waiting.step(step, 1, 0);
  waiting.event(RunEventKind::kDataUnreadable, "data_loader");
  waiting.now += 60;
  waiting.event(RunEventKind::kCheckpoint, "step_5", "1000 bytes in 2.0 s");
  EXPECT_NEAR(waiting.end(5).run.time.evaluation, 0, 2e-3) << "the control: it waited for its text";
}

}  // namespace
}  // namespace shoal::stopped_evaluations_test
