// What is gathered of events in whatever order they come.
#include "runtime/trace/report/check/check_passing.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/runtime/trace/report/trace_bench.h"

namespace shoal::check_passing_test {
namespace {

std::optional<std::uint64_t> first_plan_of(const TraceBench& bench) {
  const RunTrace trace = bench.trace();
  const auto facts = check_passing(*pieces_of(trace, 7));
  EXPECT_TRUE(facts.ok());
  return facts->first_plan;
}

TEST(CheckPassing, KeepsThePlanOfTheEarliestStepThatOneIsKnownOf) {
  TraceBench bench({3, 4, TraceLevel::kLifecycle});
  for (const std::uint64_t step : {0, 1, 2}) bench.event("spawner", of_step(TraceKind::kPlan, step)).bytes = 10 + step;
  EXPECT_EQ(first_plan_of(bench), 10U);
  bench.event("spawner", of_step(TraceKind::kPlan, 2)).time_ns = 0;
  EXPECT_EQ(first_plan_of(bench), 10U) << "by step, not by time";
  TraceEvent again = bench.event("spawner", of_step(TraceKind::kPlan, 0));
  again.bytes = 20;
  again.time_ns = bench.now_ns();
  bench.add("spawner", again);
  EXPECT_EQ(first_plan_of(bench), 20U) << "of several plans of a step the last one";
  bench.life("spawner").events.back().time_ns = 0;
  EXPECT_EQ(first_plan_of(bench), 10U);
  bench.drop("spawner", of_step(TraceKind::kPlan, 0));
  bench.drop("spawner", of_step(TraceKind::kPlan, 0));
  EXPECT_EQ(first_plan_of(bench), 11U);
  std::erase_if(bench.life("spawner").events, of_kind(TraceKind::kPlan));
  EXPECT_EQ(first_plan_of(bench), std::nullopt);
}

TEST(CheckPassing, HearsUntilWhenAProcessLived) {
  TraceBench bench;
  TraceEvent letter;
  letter.kind = TraceKind::kReceive;
  letter.actor = bench.name_of("node1", "router");
  letter.time_ns = bench.now_ns() + 1000;
  for (const std::uint64_t process : {std::uint64_t{2}, std::uint64_t{77}, std::uint64_t{1} << 23U}) {
    letter.span = process << 40U | 5;  // node2's, one's that has no trace, the spawner's
    bench.add("node1", letter);
  }
  const RunTrace trace = bench.trace();
  const auto facts = check_passing(*pieces_of(trace, 7));
  ASSERT_TRUE(facts.ok());
  const auto life = facts->signs.life_of(ProcessIncarnation{2});
  ASSERT_TRUE(life);
  EXPECT_EQ(trace.lives[*life].name, "node2");
  EXPECT_EQ(facts->signs.last_ns(*life), bench.now_ns() + 1000);
  EXPECT_LT(trace.lives[*life].end_ns, bench.now_ns());
  EXPECT_EQ(facts->signs.life_of(ProcessIncarnation{77}), std::nullopt);
  EXPECT_EQ(facts->signs.life_of(ProcessIncarnation{0}), std::nullopt) << "shared by the spawner's lives";
  const auto other = facts->signs.life_of(ProcessIncarnation{3});
  EXPECT_EQ(facts->signs.last_ns(*other), trace.lives[*other].end_ns) << "the control: nobody heard of it later";
}

}  // namespace
}  // namespace shoal::check_passing_test
