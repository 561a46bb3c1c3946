// The events that are picked tell the same story, and are as few in a long run as in a short one.
#include "runtime/trace/report/story/story_events.h"

#include <gtest/gtest.h>

#include <iostream>
#include <random>
#include <string>
#include <utility>

#include "runtime/trace/report/story/story.h"
#include "tests/runtime/trace/report/doctored.h"
#include "tests/runtime/trace/report/trace_bench.h"

namespace shoal::story_events_test {
namespace {

std::string told(const Result<std::string>& story) { return story ? *story : story.failure().message; }

std::size_t picked_of(const RunTrace& trace, MicrobatchName name) {
  const auto picked = events_of_story(*pieces_of(trace, 256), name);
  EXPECT_TRUE(picked.ok());
  return picked->events.size();
}

TEST(StoryEvents, AreNoMoreOfALongRunThanOfAShortOne) {
  const RunTrace short_run = TraceBench({20, 4, TraceLevel::kAll}).trace();
  const RunTrace long_run = TraceBench({2000, 4, TraceLevel::kAll}).trace();
  const MicrobatchName name{StepId{10}, MicrobatchId{1}};
  EXPECT_EQ(picked_of(long_run, name), picked_of(short_run, name));
  EXPECT_GT(picked_of(long_run, name), 20U);
  EXPECT_GT(long_run.events.size(), 50 * picked_of(long_run, name)) << "the control";
}

bool is_any(const TraceEvent&) { return true; }

TEST(StoryEvents, TellTheStoryOfAllEvents) {
  const unsigned seed = std::random_device{}();
  std::cout << "seed " << seed << '\n';
  std::mt19937 random(seed);
  int changed = 0;
  int known = 0;
  constexpr int kRounds = 400;
  for (int round = 0; round < kRounds; ++round) {
    const std::size_t steps = 2 + random() % 8;
    TraceBench bench({steps, static_cast<std::uint32_t>(2 + random() % 5), TraceLevel::kAll});
    const MicrobatchName name{StepId{random() % steps}, MicrobatchId{static_cast<std::uint32_t>(random() % 2)}};
    const std::string before = told(tell_microbatch(bench.trace(), name));
    for (auto faults = random() % 12; faults > 0; --faults) doctor(bench, is_any, random);
    if (random() % 3 == 0) bench.cut("node2", static_cast<std::int64_t>(random() % 1000 * bench.now_ns() / 1000));
    const RunTrace trace = bench.trace();
    const auto whole = tell_microbatch(trace, name);
    known += whole.ok() ? 1 : 0;
    changed += told(whole) == before ? 0 : 1;
    ASSERT_EQ(told(tell_microbatch(*pieces_of(trace, 1 + random() % 100), name)), told(whole)) << "round " << round;
  }
  EXPECT_GT(known, kRounds / 2);
  EXPECT_GT(changed, kRounds / 10) << "the control: many of these are in the story";
}

// A word that a process ended in order comes behind the story, and belongs to it.
TEST(StoryEvents, HaveWhatIsSaidLaterOfAnEnd) {
  for (const auto& [kind, word] : {std::pair{TraceKind::kNote, "left node2"}, {TraceKind::kView, "FinishRun"}}) {
    TraceBench bench({3, 4, TraceLevel::kAll});
    const MicrobatchName name{StepId{2}, MicrobatchId{1}};
    const auto is_work = [](const TraceEvent& event) {
      return event.kind == TraceKind::kStart && event.cause.step.value == 2;
    };
    bench.cut("node2", bench.event("node2", is_work).time_ns + 1);
    EXPECT_NE(told(tell_microbatch(*pieces_of(bench.trace(), 64), name)).find("was killed"), std::string::npos);
    TraceEvent said = bench.event("spawner", [](const TraceEvent& event) { return event.kind == TraceKind::kView; });
    said.kind = kind;
    said.time_ns = bench.now_ns() + 100'000'000;
    said.cause.position = JournalPosition{999};
    said.set_detail(word);
    bench.add("spawner", said);
    const RunTrace trace = bench.trace();
    EXPECT_EQ(told(tell_microbatch(trace, name)).find("was killed"), std::string::npos) << word;
    EXPECT_EQ(told(tell_microbatch(*pieces_of(trace, 64), name)), told(tell_microbatch(trace, name))) << word;
  }
}

// A run that went back tells a step once for each branch; what lies between them is of neither.
TEST(StoryEvents, OfTwoBranchesLeaveOutWhatLiesBetween) {
  TraceBench bench({600, 4, TraceLevel::kAll});
  const MicrobatchName name{StepId{10}, MicrobatchId{1}};
  const std::size_t of_one = picked_of(bench.trace(), name);
  for (const char* const node : {"node1", "node2"}) {
    for (TraceEvent& event : bench.life(node).events) {
      if (event.cause.step.value != 590) continue;
      event.cause.step = StepId{10};
      event.cause.branch = Branch{1};
    }
  }
  const RunTrace trace = bench.trace();
  const std::size_t of_both = picked_of(trace, name);
  EXPECT_LE(of_both, 3 * of_one);
  EXPECT_EQ(told(tell_microbatch(*pieces_of(trace, 64), name)), told(tell_microbatch(trace, name)));
}

}  // namespace
}  // namespace shoal::story_events_test
