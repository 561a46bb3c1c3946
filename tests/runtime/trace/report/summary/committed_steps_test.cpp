// The steps that a summary tells of are those of the journal, whichever order its records are read in.
#include "runtime/trace/report/summary/committed_steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "runtime/base/compose.h"
#include "runtime/trace/report/pieces/event_pieces.h"
#include "runtime/trace/report/quantities.h"
#include "runtime/trace/report/traced_journal.h"
#include "tests/runtime/trace/report/doctored.h"
#include "tests/runtime/trace/report/trace_bench.h"

namespace shoal::committed_steps_test {
namespace {

using testing::HasSubstr;

// Notes the events life by life, as a run directory has them, and takes them by time.
CommittedSteps steps_of(const RunTrace& trace) {
  std::vector<TracedEvent> by_life = trace.events;
  std::ranges::stable_sort(by_life, {}, &TracedEvent::life);
  CommittedSteps steps;
  for (const TracedEvent& traced : by_life) steps.note(trace, traced);
  steps.choose();
  for (const TracedEvent& traced : trace.events) steps.take(traced);
  return steps;
}

// Counts pairs of steps in a row, and the time from one commit to the next, from the whole journal.
std::string expected_text(const std::vector<StepTimes>& steps) {
  std::uint64_t count = 0;
  std::int64_t total = 0;
  const bool is_traced = std::ranges::any_of(steps, [](const StepTimes& step) { return step.answered_ns != 0; });
  for (std::size_t i = 1; i < steps.size() && is_traced; ++i) {
    const StepTimes& step = steps[i];
    const bool follows = step.branch == steps[i - 1].branch && step.life == steps[i - 1].life;
    const auto marks = {step.planned_ns, step.answered_ns, step.reducing_ns, step.voted_ns};
    if (!follows || std::ranges::count(marks, 0) != 0) continue;
    ++count;
    total += std::max({steps[i - 1].committed_ns, step.committed_ns, std::max(marks)}) - steps[i - 1].committed_ns;
  }
  if (!steps.empty() && !is_traced) return "steps are traced";
  if (count == 0) return "no two whole steps";
  const char* const share = total > 0 ? "100.0" : "0.0";  // of no time at all nothing is a part
  return compose(ms_text(total / static_cast<std::int64_t>(count)), "   ", share, " %\n  (mean of ", count, " of ",
                 steps.size());
}

bool is_of_steps(const TraceEvent& event) {
  return is_entry(event) || event.kind == TraceKind::kPhase || event.kind == TraceKind::kPlan;
}

TEST(CommittedSteps, AreThoseOfTheJournal) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  int unlike = 0;
  for (int round = 0; round < 300; ++round) {
    TraceBench bench({2 + random() % 10, 3, TraceLevel::kAll});
    for (auto faults = random() % 8; faults > 0; --faults) doctor(bench, is_of_steps, random);
    if (random() % 4 == 0) bench.life("spawner").events.clear();
    const RunTrace trace = bench.trace();
    const auto expected = step_times(trace, TracedJournal(trace));
    const CommittedSteps steps = steps_of(trace);
    ASSERT_EQ(steps.count(), expected.size());
    ASSERT_THAT(steps.text(), HasSubstr(expected_text(expected))) << "round " << round;
    unlike += expected.size() == trace.events.size() ? 0 : 1;
  }
  EXPECT_GT(unlike, 0);
}

TEST(CommittedSteps, AreRecordedByTheSpawnerFirst) {
  EXPECT_TRUE(counts_before({true, 9}, {false, 1}));
  EXPECT_FALSE(counts_before({false, 1}, {true, 9}));
  for (const bool is_from_spawner : {false, true}) {
    EXPECT_TRUE(counts_before({is_from_spawner, 1}, {is_from_spawner, 2}));
    EXPECT_FALSE(counts_before({is_from_spawner, 2}, {is_from_spawner, 2})) << "the first of one time";
    EXPECT_FALSE(counts_before({is_from_spawner, 3}, {is_from_spawner, 2}));
  }
}

TEST(CommittedSteps, KnowWhetherPartsOfStepsWereTraced) {
  EXPECT_TRUE(steps_of(TraceBench({3, 4, TraceLevel::kAll}).trace()).has_answers());
  EXPECT_FALSE(steps_of(TraceBench({3, 4, TraceLevel::kLifecycle}).trace()).has_answers());
}

// More entries than a block has, and steps far apart.
TEST(CommittedSteps, OfALongRunAreAllThere) {
  TraceBench bench({700, 1, TraceLevel::kLifecycle});
  TraceEvent commit = bench.event("spawner", of_step(TraceKind::kCommit, 5));
  for (const std::uint64_t position : {std::uint64_t{1} << 40U, std::uint64_t{1} << 63U}) {
    commit.cause.position = JournalPosition{position};
    commit.cause.step = StepId{position};
    bench.add("spawner", commit);
    commit.cause.position = JournalPosition{position + 1};
    bench.add("spawner", commit);  // the step was committed
  }
  EXPECT_EQ(steps_of(bench.trace()).count(), 702U);
}

}  // namespace
}  // namespace shoal::committed_steps_test
