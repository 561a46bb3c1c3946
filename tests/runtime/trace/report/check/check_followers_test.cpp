// A replica that leaves an entry out, or follows one again, is named; the order is that of time.
#include "runtime/trace/report/check/check_followers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/runtime/trace/report/trace_bench.h"

namespace shoal::check_followers_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// With all entries in a window, and with one in each.
std::vector<std::string> leaps_of(const RunTrace& trace) {
  std::vector<std::string> found;
  for (const std::size_t window : {std::size_t{100'000}, std::size_t{1}}) {
    std::vector<Violation> violations;
    CheckMemory memory;
    const auto pieces = pieces_of(trace, 10);
    EXPECT_TRUE(check_followers({*pieces, window}, memory, violations).ok());
    EXPECT_EQ(memory.facts, 4U) << "replicas";
    std::vector<std::string> texts;
    for (const Violation& one : violations) {
      EXPECT_EQ(one.rule, Rule::kView);
      texts.push_back(one.text);
    }
    if (window > 1) found = texts;
    EXPECT_EQ(texts, found);
  }
  return found;
}

TEST(CheckFollowers, NamesAReplicaThatLeavesAnEntryOutOrFollowsOneAgain) {
  TraceBench bench;
  EXPECT_THAT(leaps_of(bench.trace()), IsEmpty());
  TraceBench left_out = bench;
  left_out.drop("node1", of_step(TraceKind::kCommit, 1));
  EXPECT_THAT(leaps_of(left_out.trace()),
              ElementsAre("stage/0/0 (replica 11) in node1 follows position 9 after position 7"));
  TraceBench again = bench;
  again.add("node1", again.event("node1", of_step(TraceKind::kCommit, 2)));
  EXPECT_THAT(leaps_of(again.trace()),
              ElementsAre("stage/0/0 (replica 11) in node1 follows position 9 after position 9"));
}

TEST(CheckFollowers, BelievesNoTraceThatLacksEvents) {
  TraceBench bench;
  bench.drop("node1", of_step(TraceKind::kCommit, 1));
  bench.life("node1").dropped = 1;
  EXPECT_THAT(leaps_of(bench.trace()), IsEmpty());
}

TEST(CheckFollowers, GoesByTimeAndNotByPlace) {
  TraceBench bench;
  auto& events = bench.life("node1").events;
  const TraceEvent last = bench.event("node1", of_step(TraceKind::kCommit, 2));
  bench.drop("node1", of_step(TraceKind::kCommit, 2));
  events.insert(events.begin(), last);
  EXPECT_THAT(leaps_of(bench.trace()), IsEmpty());
  events.front().time_ns = 0;
  EXPECT_EQ(leaps_of(bench.trace()).size(), 1U) << "the control: it followed that one first";
}

}  // namespace
}  // namespace shoal::check_followers_test
