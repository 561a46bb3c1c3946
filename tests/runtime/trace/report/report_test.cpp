// Reading a run's traces, aligning their clocks, joining spans and letters; the story of a microbatch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iostream>
#include <random>

#include "runtime/base/file.h"
#include "runtime/trace/report/clocks.h"
#include "runtime/trace/report/quantities.h"
#include "runtime/trace/report/report_memory.h"
#include "runtime/trace/report/state_spans.h"
#include "runtime/trace/report/story/story.h"
#include "runtime/trace/report/summary/summary.h"
#include "runtime/trace/report/work_spans.h"
#include "runtime/trace/trace_blocks.h"
#include "runtime/trace/tracer.h"
#include "tests/runtime/data/scratch.h"
#include "tests/runtime/trace/report/trace_bench.h"
#include "tests/support/manual_clock.h"

namespace shoal::report_test {
namespace {

using testing::HasSubstr;
using testing::Not;

TraceLife life_of(const std::string& name, std::uint64_t machine, std::int64_t steady_ns, std::int64_t wall_ns) {
  TraceLife life;
  life.begin = {ProcessIncarnation{1}, wall_ns, steady_ns, machine, TraceLevel::kAll, name};
  return life;
}

TraceEvent clock_event(std::int64_t ahead_ns, std::uint64_t round_trip_ns) {
  TraceEvent event;
  event.kind = TraceKind::kClock;
  event.subject = static_cast<std::uint64_t>(ahead_ns);
  event.bytes = round_trip_ns;
  return event;
}

TEST(Clocks, OfOneMachineAreOne) {
  auto node = life_of("node1", 7, 500, 1'000'000);
  node.events.push_back(clock_event(40'000, 900'000));
  const auto clocks = align_clocks({node, life_of("spawner", 7, 100, 2'000'000)});
  EXPECT_EQ(clocks[0], (ClockReading{0, 0, ClockSource::kSameMachine})) << "whatever was measured";
}

TEST(Clocks, OfAnotherMachineAreMeasuredByTheLeastRoundTripOfAnyOfItsProcesses) {
  auto slow = life_of("node1", 8, 0, 0);
  slow.events = {clock_event(-5'300, 2'000), clock_event(-5'100, 700)};
  auto fast = life_of("node2", 8, 0, 0);
  fast.events = {clock_event(-5'000, 201)};
  const auto clocks = align_clocks({life_of("spawner", 7, 100, 0), slow, fast, life_of("node3", 9, 100, 900)});
  EXPECT_EQ(clocks[1], (ClockReading{-5'000, 101, ClockSource::kMeasured}));
  EXPECT_EQ(clocks[2], clocks[1]);
  EXPECT_EQ(clocks[3], (ClockReading{900, std::nullopt, ClockSource::kWallClock})) << "nothing was measured there";
  EXPECT_EQ(text_of(clocks[1]), "-0.005 ms (measured, at most 0.000 ms wrong)");
  EXPECT_THAT(text_of(clocks[3]), HasSubstr("not measured"));
}

TEST(Clocks, PutEventsOfTwoMachinesInOrder) {
  auto spawner = life_of("spawner", 7, 1'000'000, 0);
  auto node = life_of("node1", 8, 90'000'000, 0);
  TraceEvent event;
  for (const std::int64_t at : {100, 300, 500}) spawner.events.push_back((event.time_ns = at, event));
  node.events = {clock_event(-89'000'000, 10)};
  for (const std::int64_t at : {200, 400}) node.events.push_back((event.time_ns = at, event));
  const RunTrace trace = merge_lives({node, spawner});
  std::vector<std::string> order;
  for (const TracedEvent& traced : trace.events) order.push_back(trace.life_of(traced).name);
  EXPECT_EQ(order, (std::vector<std::string>{"node1", "spawner", "node1", "spawner", "node1", "spawner"}));
}

TEST(RunTrace, ReadsEveryProcessAndEveryLife) {
  const Scratch scratch;
  const std::string run = scratch.path().string();
  for (const char* const name : {"spawner", "node1", "node1"}) {
    const auto tracer =
        std::make_shared<Tracer>(TracerSettings{TraceLevel::kAll, 64, 7, {}}, std::make_shared<ManualClock>());
    const TraceDrain drain(tracer, trace_path(run, name), "whatever");
    ActorTrace(tracer, "router").record(TraceKind::kFault, {});
  }
  const auto trace = read_run_trace(run);
  ASSERT_TRUE(trace.ok()) << trace.failure().message;
  ASSERT_EQ(trace->lives.size(), 3U - 1) << "two drains of one tracer's clock are one life";
  EXPECT_EQ(trace->lives[0].name, "node1");
  EXPECT_EQ(trace->lives[1].name, "spawner");
  EXPECT_EQ(trace->events.size(), 3U);
  EXPECT_TRUE(trace->is_full());
  const auto nothing = read_run_trace((scratch.path() / "trace").string());
  ASSERT_FALSE(nothing.ok());
  EXPECT_EQ(nothing.failure().error, Error::kInvalidData);
}

// Merging is by time; events of one time keep the order of the lives, and those of a life their own.
TEST(RunTrace, OrdersEventsByTimeAndThenAsTheyWereRecorded) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 50; ++round) {
    std::vector<TraceLife> lives;
    std::vector<std::pair<std::int64_t, std::uint64_t>> expected;
    for (int life = 0; life < 4; ++life) {
      lives.push_back(life_of("node" + std::to_string(life), 7, 1000, 1));
      for (int i = static_cast<int>(random() % 40); i > 0; --i) {
        TraceEvent event;
        event.time_ns = static_cast<std::int64_t>(random() % 9);
        event.bytes = expected.size();
        expected.emplace_back(event.time_ns, event.bytes);
        lives.back().events.push_back(event);
      }
    }
    std::ranges::stable_sort(expected, {}, &std::pair<std::int64_t, std::uint64_t>::first);
    std::vector<std::pair<std::int64_t, std::uint64_t>> found;
    for (const TracedEvent& event : merge_lives(lives).events) found.emplace_back(event.time_ns, event.event.bytes);
    EXPECT_EQ(found, expected);
  }
}

// A life that is read in parts: names and processes stand in front of it and in its midst.
TEST(RunTrace, OfALongFileIsTheSameInParts) {
  const Scratch scratch;
  const std::string path = trace_path(scratch.path().string(), "node1");
  std::uint64_t recorded = 0;
  for (const int life : {1, 2}) {
    const auto clock = std::make_shared<ManualClock>();
    clock->advance(std::chrono::seconds(life));
    const auto tracer = std::make_shared<Tracer>(TracerSettings{TraceLevel::kAll, 1024, 7, {}}, clock);
    TraceDrain drain(tracer, path, "node1");
    for (std::uint64_t batch = 1; batch <= 150; ++batch) {
      const ActorTrace actor(tracer, "a" + std::to_string(batch % 100), Incarnation{batch});
      for (int i = 0; i < 1000; ++i) actor.record(TraceKind::kFault, {}, ++recorded);
      if (batch % 60 == 0) tracer->set_process(ProcessIncarnation{batch}, Term{1});
      ASSERT_TRUE(drain.flush().ok());
    }
  }
  std::size_t parts = 0;
  std::size_t most = 0;
  ASSERT_TRUE(read_trace_parts(path, [&](const TracePart& part) {
                ++parts;
                most = std::max(most, part.life.events.size());
              }).ok());
  EXPECT_EQ(parts, 2U * 9) << "of 17 blocks of 1000 events";
  EXPECT_LT(most, kPartEvents + 1000);
  const auto whole = read_trace_file(path);
  ASSERT_EQ(whole->size(), 2U);
  const RunTrace expected = merge_lives(*whole);
  const auto trace = read_run_trace(scratch.path().string());
  ASSERT_EQ(trace->events.size(), recorded);
  ASSERT_EQ(trace->lives.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(trace->lives[i].processes, expected.lives[i].processes);
    EXPECT_EQ(trace->lives[i].processes.size(), 3U);
    EXPECT_EQ(trace->lives[i].end_ns, expected.lives[i].end_ns);
    EXPECT_TRUE(trace->lives[i].is_whole);
  }
  for (std::size_t i = 0; i < recorded; ++i) {
    ASSERT_EQ(trace->events[i].event.bytes, i + 1);
    ASSERT_EQ(trace->actor_of(trace->events[i]), expected.actor_of(expected.events[i]));
    ASSERT_NE(trace->actor_of(trace->events[i]), "?");
  }
}

TEST(ReportMemory, IsAskedForBeforeAnythingIsRead) {
  const std::uint64_t million = 1'000'000 * kEventBytes;
  const std::uint64_t needed = memory_of_report(million, 200);
  EXPECT_EQ(needed, 200'000'000U);
  EXPECT_TRUE(check_memory(million, needed, std::nullopt).ok()) << "the system does not say";
  EXPECT_TRUE(check_memory(million, needed, 200'000'000).ok());
  const auto refused = check_memory(million, needed, 199'999'999);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(exit_code(refused.failure().error), 3) << "1 says that an invariant is broken";
  EXPECT_THAT(refused.failure().message, HasSubstr("1000000 events"));
  EXPECT_TRUE(check_memory(0, 0, 0).ok());
}

TEST(ReportMemory, OfACheckHardlyGrowsWithTheTrace) {
  const std::uint64_t million = 1'000'000 * kEventBytes;
  EXPECT_EQ(memory_of_check(million / 1000), memory_of_report(million / 1000, kReportEventBytes)) << "all of it";
  EXPECT_LT(memory_of_check(million), memory_of_report(million, kReportEventBytes) / 2);
  EXPECT_LT(memory_of_check(100 * million), 2 * memory_of_check(million));
}

TEST(ReportMemory, OfASummaryIsAFewPercentOfTheTrace) {
  const std::uint64_t million = 1'000'000 * kEventBytes;
  EXPECT_EQ(memory_of_summary(million / 1000), memory_of_report(million / 1000, kReportEventBytes)) << "all of it";
  EXPECT_LT(memory_of_summary(million), memory_of_report(million, kReportEventBytes) / 2);
  EXPECT_GT(memory_of_summary(100 * million), memory_of_check(100 * million)) << "steps are kept";
  EXPECT_LT(memory_of_summary(100 * million), memory_of_report(100 * million, kReportEventBytes) / 20);
}

TEST(WorkSpans, AreClosedWhereTheirProcessWasCutOff) {
  TraceBench bench({1, 2});
  const std::int64_t begun = bench.event("node1", of_kind(TraceKind::kStart)).time_ns;
  bench.cut("node1", begun + 1);
  const RunTrace trace = bench.trace();
  std::vector<WorkSpan> cut;
  for (const WorkSpan& span : work_spans(trace)) {
    if (span.is_cut) cut.push_back(span);
  }
  ASSERT_EQ(cut.size(), 1U);
  EXPECT_EQ(cut[0].word, "forward");
  EXPECT_EQ(cut[0].end_ns, cut[0].begin_ns);
}

// Pieces that lie in each other end from the inside, and are numbered as they began.
TEST(WorkTracks, GiveAPieceWhenItHasEnded) {
  RunTrace frame;
  frame.lives.resize(1);
  frame.lives[0].end_ns = 99;
  std::vector<std::pair<std::uint64_t, std::int64_t>> closed;
  WorkTracks tracks(frame, [&](const WorkSpan& span, std::uint64_t number) {
    EXPECT_EQ(span.is_cut, number % 2 == 1) << "each second one is without its end";
    closed.emplace_back(number, span.end_ns);
  });
  const auto take = [&](TraceKind kind, std::uint64_t span, std::int64_t time_ns) {
    TracedEvent traced;
    traced.time_ns = time_ns;
    traced.event.kind = kind;
    traced.event.span = span;
    tracks.take(traced);
  };
  using Closed = std::vector<std::pair<std::uint64_t, std::int64_t>>;
  for (std::uint64_t span = 1; span <= 4; ++span) take(TraceKind::kStart, span, static_cast<std::int64_t>(span));
  take(TraceKind::kEnd, 77, 10);
  EXPECT_EQ(closed, Closed{}) << "the end of another";
  take(TraceKind::kEnd, 3, 20);
  EXPECT_EQ(closed, (Closed{{3, 20}, {2, 20}}));
  take(TraceKind::kEnd, 1, 30);
  EXPECT_EQ(closed, (Closed{{3, 20}, {2, 20}, {1, 30}, {0, 30}}));
  take(TraceKind::kStart, 5, 40);
  take(TraceKind::kEnd, 5, 41);
  take(TraceKind::kStart, 6, 50);
  tracks.finish();
  EXPECT_EQ(closed.size(), 6U);
  EXPECT_EQ(closed.back(), (std::pair<std::uint64_t, std::int64_t>{5, 99}));
}

TEST(WorkSpans, LeadToTheWorkThatTheirLettersAreFor) {
  const RunTrace trace = TraceBench({2, 3}).trace();
  const auto spans = work_spans(trace);
  const auto links = work_links(trace, spans);
  EXPECT_EQ(links.size(), 2U * 3 * 2);
  for (const WorkLink& link : links) {
    EXPECT_EQ(spans[link.from].cause.microbatch, spans[link.to].cause.microbatch);
    EXPECT_LE(spans[link.from].end_ns, spans[link.to].begin_ns);
    const bool is_known = (spans[link.from].word == "forward" && spans[link.to].word == "loss") ||
                          (spans[link.from].word == "loss" && spans[link.to].word == "backward");
    EXPECT_TRUE(is_known) << spans[link.from].word << " to " << spans[link.to].word;
  }
}

TEST(Letters, ThatNeverCameHaveNoArrival) {
  TraceBench bench({1, 2});
  bench.drop("node3", of_kind(TraceKind::kReceive));
  const RunTrace trace = bench.trace();
  const auto letters = letters_of(trace);
  EXPECT_EQ(std::ranges::count_if(letters, [](const TracedLetter& letter) { return !letter.arrived; }), 1);
}

TEST(StepTimes, FollowOneAnother) {
  const RunTrace trace = TraceBench({3, 4}).trace();
  const auto steps = step_times(trace, TracedJournal(trace));
  ASSERT_EQ(steps.size(), 3U);
  for (const StepTimes& step : steps) {
    EXPECT_EQ(step.microbatches, 4U);
    EXPECT_LT(step.planned_ns, step.answered_ns);
    EXPECT_LT(step.answered_ns, step.reducing_ns);
    EXPECT_LT(step.reducing_ns, step.voted_ns);
    EXPECT_LT(step.voted_ns, step.committed_ns);
    EXPECT_LT(step.committed_ns, step.applied_ns);
  }
}

// Nothing crashes and nothing loops, whatever is missing.
TEST(Reports, StandAnyTrace) {
  const unsigned seed = std::random_device{}();
  std::cout << "seed " << seed << '\n';
  std::mt19937 random(seed);
  for (int round = 0; round < 200; ++round) {
    TraceBench bench({2, static_cast<std::uint32_t>(2 + random() % 3)});
    for (const std::string name : {"spawner", "node1", "node2", "node3", "node4"}) {
      for (TraceEvent& event : bench.life(name).events) {
        if (random() % 20 != 0) continue;
        auto* const bytes = reinterpret_cast<unsigned char*>(&event);
        bytes[random() % sizeof event] ^= static_cast<unsigned char>(1U << random() % 8);
        event.kind = std::min(event.kind, kTraceKindLast);
        event.time_ns = std::clamp<std::int64_t>(event.time_ns, 0, 1'000'000'000'000);
      }
    }
    const RunTrace trace = bench.trace();
    (void)summary_text(trace);
    (void)tell_microbatch(trace, {StepId{1}, MicrobatchId{1}});
  }
}

TEST(Quantities, ReadAsPeopleReadThem) {
  EXPECT_EQ(bytes_text(16384), "16.0 KiB");
  EXPECT_EQ(bytes_text(12), "12 bytes");
  EXPECT_EQ(ms_text(81'234), "0.081 ms");
  EXPECT_EQ(percent_text(0.123), "12.3 %");
}

}  // namespace
}  // namespace shoal::report_test
