// Each letter's first sending is joined with its first arrival, whichever comes by first.
#include "runtime/trace/report/letter_ends.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <vector>

#include "runtime/trace/report/work_spans.h"

namespace shoal::letter_ends_test {
namespace {

TracedEvent event_of(TraceKind kind, std::uint64_t span, std::int64_t time_ns = 1) {
  TracedEvent traced;
  traced.time_ns = time_ns;
  traced.event.kind = kind;
  traced.event.span = span;
  return traced;
}

TEST(SpanSet, HasWhatWasAdded) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  SpanSet set;
  std::set<std::uint64_t> expected;
  for (int i = 0; i < 3000; ++i) {
    const std::uint64_t span = (random() % 4 << 40U) | random() % 3000;
    if (random() % 3 == 0) {
      set.erase(span);
      expected.erase(span);
    } else {
      set.add(span);
      expected.insert(span);
    }
    const std::uint64_t asked = (random() % 4 << 40U) | random() % 3000;
    ASSERT_EQ(set.has(asked), expected.contains(asked));
  }
}

// Looks at all events for each letter.
std::vector<std::optional<std::size_t>> arrivals_of(const RunTrace& trace) {
  std::vector<std::optional<std::size_t>> arrivals;
  std::map<std::uint64_t, std::size_t> first_sent;
  for (const TracedEvent& traced : trace.events) {
    if (!is_sending(traced.event)) continue;
    first_sent.try_emplace(traced.event.span, arrivals.size());
    arrivals.emplace_back();
  }
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    const TraceEvent& event = trace.events[i].event;
    const auto sent = first_sent.find(event.span);
    if (!is_arrival(event.kind) || sent == first_sent.end()) continue;
    if (!arrivals[sent->second]) arrivals[sent->second] = i;
  }
  return arrivals;
}

TEST(LetterEnds, JoinWhatBelongsTogetherInAnyOrder) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  int joined = 0;
  for (int round = 0; round < 300; ++round) {
    RunTrace trace;
    for (std::int64_t i = 0; i < 60; ++i) {
      static constexpr TraceKind kKinds[] = {TraceKind::kSend, TraceKind::kReceive, TraceKind::kDrop,
                                             TraceKind::kStart};
      trace.events.push_back(event_of(kKinds[random() % 4], random() % 25, i));
    }
    const auto expected = arrivals_of(trace);
    const auto found = letters_of(trace);
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      ASSERT_EQ(found[i].arrived, expected[i]) << i;
      joined += found[i].arrived ? 1 : 0;
    }
  }
  EXPECT_GT(joined, 300) << "the control";
}

TEST(LetterEnds, WaitForThoseAloneThatAreToCome) {
  std::vector<TracedEvent> events;
  for (std::uint64_t span = 1; span <= 50; ++span) {
    events.push_back(event_of(TraceKind::kSend, 1000 + span));     // never arrives
    events.push_back(event_of(TraceKind::kReceive, 2000 + span));  // nobody sent it
    events.push_back(event_of(TraceKind::kReceive, span));         // by a clock that is behind
    events.push_back(event_of(TraceKind::kSend, span));
  }
  LetterEnds ends;
  for (const TracedEvent& traced : events) ends.note(traced.event);
  std::size_t joined = 0;
  for (const TracedEvent& traced : events) joined += ends.take(traced, 0) ? 1 : 0;
  EXPECT_EQ(joined, 50U);
  EXPECT_EQ(ends.most_waiting(), 1U);
}

}  // namespace
}  // namespace shoal::letter_ends_test
