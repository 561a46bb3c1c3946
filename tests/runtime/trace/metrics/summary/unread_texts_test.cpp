// Tests that one process which waits for its text is stalled then, and saves nothing for that long.
#include <gtest/gtest.h>

#include "tests/runtime/trace/metrics/summary/told_run.h"

namespace shoal::unread_texts_test {
namespace {

using told::expect_time;
using told::ToldRun;

ToldRun begun() {
  ToldRun run;
  run.event(RunEventKind::kStarted);
  run.step(0, 1, 0);
  run.step(1, 1, 0);
  return run;
}

TEST(UnreadTexts, HoldUpTheStepThatWaitsForThem) {
  for (const bool is_saved : {false, true}) {
    ToldRun run = begun();
    run.evaluation(2);
    if (is_saved) run.event(RunEventKind::kCheckpoint, "step_2", "1000 bytes in 0.5 s");
    run.event(RunEventKind::kDataUnreadable, "text");
    run.event(RunEventKind::kDataReadAgain, "text");
    run.wait_ms = 9500;
    run.step(2, 10.5, 0);
    expect_time(run.end(3).run, {0, 3, 2, is_saved ? 0.5 : 0, is_saved ? 7.0 : 7.5, 0});
  }
}

TEST(UnreadTexts, HoldUpARunUpToItsEnd) {
  ToldRun run = begun();
  run.event(RunEventKind::kDataUnreadable, "text");
  run.now += 50;
  run.event(RunEventKind::kStopping);
  run.event(RunEventKind::kCheckpoint, "step_2", "1000 bytes in 0.5 s");
  run.now += 0.5;
  expect_time(run.end(2).run, {0, 2, 0, 0.5, 50, 0});
}

TEST(UnreadTexts, OfAnEarlierStepAreOver) {
  ToldRun run = begun();
  run.event(RunEventKind::kDataUnreadable, "text");
  run.wait_ms = 5000;
  run.step(2, 6, 0);
  run.wait_ms = 1500;
  run.step(3, 2.5, 0);
  expect_time(run.end(4).run, {0, 4, 0, 1.5, 5, 0});
}

}  // namespace
}  // namespace shoal::unread_texts_test
