// The lines of a run as a test tells it, and where its summary says that the time went. All moments are seconds after
// one.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "runtime/trace/metrics/run_summary.h"

namespace shoal::told {

inline WallTime at(double seconds) {
  return WallTime(std::chrono::sys_days(std::chrono::year(2026) / 11 / 25)) +
         std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000 + 0.5));
}

// A run whose steps have 100 tokens and take a second; it keeps the time.
class ToldRun {
 public:
  void event(RunEventKind kind, const std::string& subject = "run", const std::string& reason = "a reason") {
    add(to_json_line(RunEvent{kind, subject, reason, 0}));
  }
  void step(std::uint64_t step, double took = 1, std::uint64_t view = 9) {
    now += took;
    StepRecord record;
    record.step = step;
    record.tokens = 100;
    record.step_ms = took * 1000;
    record.view = view;
    record.time.emplace().wait = wait_ms;
    record.lost_tokens = lost_tokens;
    record.approximated = approximated;
    if (has_bytes) record.bytes = ByteCounts{10, 20, 30, 40, 50, 60};
    add(to_json_line(record));
  }
  // The step's line comes from the journal: nobody wrote it when the step was made.
  void filled_step(std::uint64_t step, double took = 1) {
    StepRecord record;
    record.step = step;
    record.tokens = 100;
    record.step_ms = took * 1000;
    record.view = 9;
    record.is_filled = true;
    add(to_json_line(record));
  }
  void steps(std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t one = begin; one < end; ++one) step(one);
  }
  // A person's start, and so many steps.
  void train(std::uint64_t steps_made) {
    event(RunEventKind::kStarted);
    event(RunEventKind::kTraining);
    steps(0, steps_made);
  }
  // The next step has it in its time.
  void evaluation(double took) {
    EvalRecord record;
    record.eval_ms = took * 1000;
    summary.add(with_time(to_json_line(record), at(now + took)));
  }
  [[nodiscard]] SummaryRecord end(std::uint64_t steps) const { return summary.of(steps, at(now)); }

  RunSummary summary;
  double now = 0;
  double wait_ms = 0;
  bool has_bytes = true;
  std::uint64_t lost_tokens = 0;   // by each step
  std::uint32_t approximated = 0;  // in each step

 private:
  void add(const std::string& line) { summary.add(with_time(line, at(now))); }
};

inline void expect_time(const SpanSummary& span, const TimeParts& expected) {
  EXPECT_NEAR(span.time.start, expected.start, 2e-3);
  EXPECT_NEAR(span.time.training, expected.training, 2e-3);
  EXPECT_NEAR(span.time.evaluation, expected.evaluation, 2e-3);
  EXPECT_NEAR(span.time.checkpoint, expected.checkpoint, 2e-3);
  EXPECT_NEAR(span.time.stalled, expected.stalled, 2e-3);
  EXPECT_NEAR(span.time.repeated, expected.repeated, 2e-3);
}

}  // namespace shoal::told
