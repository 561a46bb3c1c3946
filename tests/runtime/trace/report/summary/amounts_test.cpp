// Sums do not depend on the order in which events are noted.
#include "runtime/trace/report/summary/amounts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/runtime/trace/report/trace_bench.h"

namespace shoal::amounts_test {
namespace {

using testing::HasSubstr;

std::string text_of(const RunTrace& trace, const std::vector<TracedEvent>& noted) {
  WorkAmounts work(trace);
  LetterAmounts letters;
  for (const TracedEvent& traced : noted) {
    work.note(traced);
    letters.note(traced.event);
  }
  for (const TracedEvent& traced : trace.events) {
    work.take(traced);
    letters.take(traced);
  }
  return work.finish() + letters.text();
}

TEST(Amounts, AreTheSameInWhicheverOrderEventsAreNoted) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const RunTrace trace = TraceBench({3, 4}).trace();
  const std::string expected = text_of(trace, trace.events);
  EXPECT_THAT(expected, HasSubstr("stage/1/0 in node3: loss"));
  EXPECT_THAT(expected, HasSubstr("Backward"));
  std::vector<TracedEvent> noted = trace.events;
  for (int round = 0; round < 20; ++round) {
    std::ranges::shuffle(noted, random);
    EXPECT_EQ(text_of(trace, noted), expected);
  }
  noted.resize(noted.size() / 2);
  EXPECT_NE(text_of(trace, noted), expected) << "the control";
}

}  // namespace
}  // namespace shoal::amounts_test
