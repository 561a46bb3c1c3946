// A run is checked in the memory of some of its steps, and what is found does not depend on how many.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <random>

#include "runtime/base/compose.h"
#include "runtime/trace/report/check/trace_check.h"
#include "tests/runtime/trace/report/doctored.h"
#include "tests/runtime/trace/report/trace_bench.h"

namespace shoal::bounded_check_test {
namespace {

std::string text_of(const CheckReport& report) {
  std::string text;
  for (const Violation& violation : report.violations)
    text += compose(name_of(violation.rule), ": ", violation.text, "\n");
  for (const std::string& note : report.notes) text += "note: " + note + "\n";
  const CheckCounts& counts = report.counts;
  return compose(text, counts.commits, " ", counts.branches, " ", counts.contributions, " ", counts.accumulations_seen,
                 " ", counts.accumulations_excused, " ", counts.digests_compared, " ", counts.marks);
}

CheckMemory memory_of(std::uint64_t steps, TraceLevel level, std::size_t window_events) {
  const CheckReport report = check_trace(TraceBench({steps, 4, level}).trace(), window_events);
  EXPECT_TRUE(report.is_good()) << text_of(report);
  EXPECT_EQ(report.counts.commits, steps);
  return report.memory;
}

TEST(BoundedCheck, HoldsNoMoreOfALongRunThanOfAShortOne) {
  constexpr std::size_t kWindow = 400;
  for (const TraceLevel level : {TraceLevel::kLifecycle, TraceLevel::kAll}) {
    const CheckMemory of_short = memory_of(200, level, kWindow);
    const CheckMemory of_long = memory_of(2000, level, kWindow);
    EXPECT_LE(of_short.events, 2 * (kWindow + 1)) << "a window of entries and one of what is about them";
    EXPECT_LE(of_long.events, 2 * (kWindow + 1));
    EXPECT_LE(of_long.states, kWindow + 1);
    EXPECT_GT(of_short.states, 0U);
    EXPECT_EQ(of_long.facts, of_short.facts);
    EXPECT_GT(of_short.facts, 0U);
    const std::size_t everything = memory_of(2000, level, 1'000'000).events;
    EXPECT_GT(everything, 9 * memory_of(200, level, 1'000'000).events) << "the control: a window without a bound";
    EXPECT_GT(everything, 20 * of_long.events);
  }
}

// Any of the events that a check reads.
bool is_compared(const TraceEvent& event) { return topic_of(event).kind != TopicKind::kNone; }

TEST(BoundedCheck, FindsTheSameInWindowsOfAnySize) {
  const unsigned seed = std::random_device{}();
  std::cout << "seed " << seed << '\n';
  std::mt19937 random(seed);
  std::size_t broken = 0;
  constexpr int kRounds = 300;
  for (int round = 0; round < kRounds; ++round) {
    const BenchShape shape{2 + random() % 12, static_cast<std::uint32_t>(2 + random() % 5), TraceLevel::kAll};
    TraceBench bench(shape);
    add_sums(bench, shape.steps, random);
    for (auto faults = random() % 6; faults > 0; --faults) doctor(bench, is_compared, random);
    const RunTrace trace = bench.trace();
    const CheckReport whole = check_trace(trace, 1'000'000);
    broken += whole.is_good() ? 0 : 1;
    for (const std::size_t window : {std::size_t{1}, 2 + random() % 30, 30 + random() % 300}) {
      const auto pieces = pieces_of(trace, 1 + random() % 100);
      const auto report = check_trace(*pieces, window);
      ASSERT_TRUE(report.ok());
      ASSERT_EQ(text_of(*report), text_of(whole)) << "round " << round << ", windows of " << window;
    }
  }
  EXPECT_GT(broken, kRounds / 2) << "the control: most of these are found";
}

}  // namespace
}  // namespace shoal::bounded_check_test
