// Windows give every event once, those of a rank together, in the order of time, and keep within their bound.
#include "runtime/trace/report/pieces/event_window.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

namespace shoal::event_window_test {
namespace {

// Of one life; `bytes` numbers the events in the order of time, as merge_lives() has them.
RunTrace trace_of(const std::vector<TraceEvent>& events) {
  TraceLife life;
  life.begin.process_name = "node1";
  life.events = events;
  RunTrace trace = merge_lives({life});
  for (std::size_t i = 0; i < trace.events.size(); ++i) trace.events[i].event.bytes = i;
  return trace;
}

std::vector<TraceEvent> random_events(std::mt19937& random, std::size_t count, std::uint64_t steps) {
  std::vector<TraceEvent> events(count);
  for (TraceEvent& event : events) {
    event.time_ns = static_cast<std::int64_t>(random() % 50);
    event.kind = random() % 4 == 0 ? TraceKind::kFault : TraceKind::kPlan;
    event.cause.step = StepId{random() % steps};
  }
  return events;
}

WindowQuery plans_from(std::uint64_t begin, std::uint64_t end) {
  return {begin, end,
          [](const TracedEvent& traced) {
            const Topic topic = topic_of(traced.event);
            return topic.kind == TopicKind::kStep ? std::optional(topic.number) : std::nullopt;
          },
          [](const PieceTopics& topics, std::uint64_t first, std::uint64_t last) {
            return topics.steps.touches(first, last);
          }};
}

TEST(EventWindow, GivesEveryEventOfARankTogetherAndInOrder) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 100; ++round) {
    const std::uint64_t steps = 1 + random() % 40;
    const RunTrace trace = trace_of(random_events(random, 300, steps));
    std::map<std::uint64_t, std::size_t> expected;
    for (const TracedEvent& traced : trace.events) {
      if (traced.event.kind == TraceKind::kPlan) ++expected[traced.event.cause.step.value];
    }
    const std::size_t bound = 1 + random() % 80;
    const auto pieces = pieces_of(trace, 1 + random() % 60);
    EventWindow window({*pieces, bound});
    std::map<std::uint64_t, std::size_t> found;
    for (std::uint64_t begin = 0; begin < steps; begin = window.end()) {
      ASSERT_TRUE(window.load(plans_from(begin, steps)).ok());
      ASSERT_GT(window.end(), begin);
      const auto& events = window.trace().events;
      EXPECT_TRUE(std::ranges::is_sorted(events, {}, [](const TracedEvent& traced) { return traced.event.bytes; }));
      EXPECT_TRUE(events.size() <= bound || window.end() == begin + 1) << "one rank has more";
      for (std::size_t i = 0; i < events.size(); ++i) {
        const std::uint64_t step = events[i].event.cause.step.value;
        EXPECT_TRUE(begin <= step && step < window.end());
        EXPECT_EQ(window.order_of(i), (EventOrder{events[i].time_ns, events[i].event.bytes}));
        ++found[step];
      }
    }
    EXPECT_EQ(found, expected);
  }
}

TEST(EventWindow, TakesFewerManifestsTheMoreTheyList) {
  std::vector<TraceEvent> events(1000);
  for (std::size_t i = 0; i < events.size(); ++i) {
    events[i].kind = TraceKind::kManifest;
    events[i].cause.position = JournalPosition{i};
    events[i].bytes = i < 500 ? 4 : kManifestBits;
  }
  RunTrace trace = trace_of(events);
  for (std::size_t i = 0; i < events.size(); ++i) trace.events[i].event = events[i];
  const auto pieces = pieces_of(trace, 100);
  const auto count_from = [&](std::uint64_t begin) {
    EventWindow window({*pieces, 200});
    WindowQuery query{begin, 1000,
                      [](const TracedEvent& traced) { return std::optional(traced.event.cause.position.value); },
                      [](const PieceTopics&, std::uint64_t, std::uint64_t) { return true; }};
    std::size_t most = 0;
    for (; query.begin < begin + 400; query.begin = window.end()) {
      EXPECT_TRUE(window.load(query).ok());
      most = std::max(most, window.trace().events.size());
    }
    return most;
  };
  EXPECT_GT(count_from(0), 50U);
  EXPECT_LE(count_from(0), 100U) << "each counts for two";
  EXPECT_LE(count_from(600), 200 / (1 + kManifestBits / 4));
  EXPECT_GT(count_from(600), 0U);
}

TEST(EventWindow, ReadsNoMoreOftenWhereNothingIs) {
  TraceEvent first;
  first.kind = TraceKind::kPlan;
  TraceEvent last = first;
  last.cause.step = StepId{std::uint64_t{1} << 60U};
  const RunTrace trace = trace_of({first, last});
  const auto pieces = pieces_of(trace, 100);
  EventWindow window({*pieces, 100});
  std::size_t loads = 0;
  const std::uint64_t end = last.cause.step.value + 1;
  std::size_t found = 0;
  for (std::uint64_t begin = 0; begin < end; begin = window.end(), ++loads) {
    ASSERT_TRUE(window.load(plans_from(begin, end)).ok());
    found += window.trace().events.size();
  }
  EXPECT_EQ(found, 2U);
  EXPECT_LT(loads, 64U);
}

}  // namespace
}  // namespace shoal::event_window_test
