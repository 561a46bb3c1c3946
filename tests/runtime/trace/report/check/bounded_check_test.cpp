// A run is checked in the memory of some of its steps, and what is found does not depend on how many.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <random>

#include "runtime/base/compose.h"
#include "runtime/trace/report/check/trace_check.h"
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
TraceEvent& any_event(TraceBench& bench, const std::string& life, std::mt19937& random) {
  auto& events = bench.life(life).events;
  for (;;) {
    TraceEvent& event = events[random() % events.size()];
    if (topic_of(event).kind != TopicKind::kNone) return event;
  }
}

// Makes one thing of a run wrong, or none.
void doctor(TraceBench& bench, std::mt19937& random) {
  static constexpr const char* kLives[] = {"spawner", "node1", "node2", "node3", "node4"};
  const std::string life = kLives[random() % std::size(kLives)];
  TraceEvent& event = any_event(bench, life, random);
  const std::uint64_t shift = 1 + random() % 9;
  switch (random() % 12) {
    case 0: event.kind = TraceKind::kFault; break;
    case 1: event.cause.step.value += shift; break;
    case 2: event.cause.step.value -= std::min(event.cause.step.value, shift); break;
    case 3: event.cause.position.value += shift; break;
    case 4: event.cause.position.value -= std::min(event.cause.position.value, shift); break;
    case 5: event.cause.branch.value += 1; break;
    case 6: event.cause.attempt += 1; break;
    case 7: event.bytes ^= shift; break;
    case 8: event.subject += shift % 3; break;
    case 9:
      event.time_ns = static_cast<std::int64_t>(random() % (2 * static_cast<std::uint64_t>(bench.now_ns())));
      break;
    case 10: bench.life(life).dropped += random() % 2; break;
    default: {
      TraceEvent again = event;  // may be late, or another's
      again.actor = bench.name_of("node1", "stage/0/0");
      again.incarnation.value += random() % 2;
      if (random() % 2 == 0) again.time_ns = static_cast<std::int64_t>(random() % 1000) * 1'000'000;
      bench.add("node1", again);
    }
  }
}

// The sums of some epochs as replicas adopted them, right and wrong ones.
void add_sums(TraceBench& bench, std::uint64_t steps, std::mt19937& random) {
  for (std::uint64_t step = 0; step < steps; ++step) {
    TraceEvent sum = bench.event("node3", of_step(TraceKind::kDigest, step));
    sum.set_detail("sum");
    sum.cause.attempt = static_cast<std::uint32_t>(step) + 1;
    sum.subject = 22;
    sum.bytes = 900 + step + (random() % 8 == 0 ? 1 : 0);
    bench.add("node3", sum);
  }
}

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
    for (auto faults = random() % 6; faults > 0; --faults) doctor(bench, random);
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
