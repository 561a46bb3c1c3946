// A run is summarised in the memory of some of its events, and the text does not depend on how many.
#include <gtest/gtest.h>

#include <iostream>
#include <random>
#include <string>

#include "runtime/trace/report/summary/summary.h"
#include "tests/runtime/trace/report/doctored.h"
#include "tests/runtime/trace/report/trace_bench.h"

namespace shoal::bounded_summary_test {
namespace {

TraceSummary summary_of(const RunTrace& trace, std::size_t piece_events, std::size_t window_events) {
  auto summary = summarise_trace(*pieces_of(trace, piece_events), window_events);
  EXPECT_TRUE(summary.ok());
  return std::move(summary.value());
}

TEST(BoundedSummary, HoldsNoMoreOfALongRunThanOfAShortOne) {
  constexpr std::size_t kWindow = 400;
  const RunTrace short_run = TraceBench({200, 4, TraceLevel::kAll}).trace();
  const RunTrace long_run = TraceBench({2000, 4, TraceLevel::kAll}).trace();
  const TraceSummary of_short = summary_of(short_run, 256, kWindow);
  const TraceSummary of_long = summary_of(long_run, 256, kWindow);
  EXPECT_LE(of_short.most_events, kWindow + 1);
  EXPECT_LE(of_long.most_events, kWindow + 1);
  EXPECT_GT(of_long.most_letters, 0U);
  EXPECT_EQ(of_long.most_letters, of_short.most_letters);
  const std::size_t everything = summary_of(long_run, 256, 1'000'000).most_events;
  EXPECT_GT(everything, 5 * summary_of(short_run, 256, 1'000'000).most_events) << "the control: no bound";
  EXPECT_GT(everything, 20 * of_long.most_events);
}

// Letters of a process whose trace is not there are not waited for, nor are those to it.
TEST(BoundedSummary, WaitsForNoLetterWhoseOtherEndIsInNoTrace) {
  for (const TraceKind kind : {TraceKind::kSend, TraceKind::kReceive}) {
    TraceBench bench({300, 4, TraceLevel::kAll});
    const std::size_t before = summary_of(bench.trace(), 256, 400).most_letters;
    std::erase_if(bench.life("spawner").events, [&](const TraceEvent& event) { return event.kind == kind; });
    EXPECT_LE(summary_of(bench.trace(), 256, 400).most_letters, before);
  }
}

TEST(BoundedSummary, ReadsMostOfARunWithoutLettersOnce) {
  const RunTrace trace = TraceBench({200, 4, TraceLevel::kLifecycle}).trace();
  EXPECT_EQ(summary_of(trace, 256, 400).most_events, 0U);
  const RunTrace full = TraceBench({200, 4, TraceLevel::kAll}).trace();
  EXPECT_GT(summary_of(full, 256, 400).most_events, 0U) << "the control";
}

bool is_any(const TraceEvent&) { return true; }

// Makes letters come twice, be sent twice, or come before they are sent; ends processes and work; moves clocks.
void doctor_letters(TraceBench& bench, std::mt19937& random) {
  const std::string name = random() % 2 == 0 ? "spawner" : "node3";
  auto& events = bench.life(name).events;
  TraceEvent event = events[random() % events.size()];
  switch (random() % 7) {
    case 0: bench.life(name).begin.steady_ns += static_cast<std::int64_t>(random() % 60) * 1'000'000; break;
    case 1: bench.cut("node2", static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(bench.now_ns()))); break;
    case 2:
      std::erase_if(events, [&](const TraceEvent& one) { return one.kind == TraceKind::kEnd && random() % 9 == 0; });
      break;
    case 3:
      event.kind = TraceKind::kLink;
      event.set_detail(random() % 2 == 0 ? "lost: closed" : "lost: it was reset");
      bench.add(name, event);
      break;
    case 4:
      for (int i = 0; i < 50; ++i) {
        event.kind = random() % 2 == 0 ? TraceKind::kFault : TraceKind::kRollBack;
        event.cause.branch.value += static_cast<std::uint32_t>(random() % 2);
        bench.add(name, event);
      }
      break;
    default:
      for (TraceEvent& one : events) {
        if (one.span == 0 || random() % 9 != 0) continue;
        const std::int64_t shift = static_cast<std::int64_t>(random() % 40) * 1'000'000;
        if (random() % 2 == 0) one.time_ns = std::max<std::int64_t>(1, one.time_ns - shift);
        if (random() % 3 == 0) one.span += 1;
        if (random() % 9 == 0) one.kind = TraceKind::kDrop;
      }
  }
}

TEST(BoundedSummary, SaysTheSameInWindowsOfAnySize) {
  const unsigned seed = std::random_device{}();
  std::cout << "seed " << seed << '\n';
  std::mt19937 random(seed);
  int changed = 0;
  constexpr int kRounds = 200;
  for (int round = 0; round < kRounds; ++round) {
    const BenchShape shape{2 + random() % 12, static_cast<std::uint32_t>(2 + random() % 5), TraceLevel::kAll};
    TraceBench bench(shape);
    const std::string before = summary_text(bench.trace());
    for (auto faults = random() % 6; faults > 0; --faults) {
      random() % 2 == 0 ? doctor(bench, is_any, random) : doctor_letters(bench, random);
    }
    const RunTrace trace = bench.trace();
    const std::string whole = summary_of(trace, trace.events.size(), 1'000'000).text;
    changed += whole == before ? 0 : 1;
    for (const std::size_t window : {std::size_t{1}, 2 + random() % 30, 30 + random() % 300}) {
      ASSERT_EQ(summary_of(trace, 1 + random() % 100, window).text, whole)
          << "round " << round << ", windows of " << window;
    }
  }
  EXPECT_GT(changed, kRounds / 2) << "the control: most of these are in the text";
}

}  // namespace
}  // namespace shoal::bounded_summary_test
