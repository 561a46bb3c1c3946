// The pieces of a run directory have what read_run_trace() has, and have it still when the run has gone on.
#include "runtime/trace/report/pieces/event_pieces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>

#include "runtime/base/compose.h"
#include "runtime/trace/tracer.h"
#include "tests/runtime/data/scratch.h"
#include "tests/support/manual_clock.h"

namespace shoal::event_pieces_test {
namespace {

using testing::HasSubstr;

struct Numbered {
  std::uint64_t number = 0;
  TracedEvent traced;
};

// In the order of time, as a window sorts them.
std::vector<Numbered> all_of(const EventPieces& pieces) {
  std::vector<Numbered> all;
  for (std::size_t piece = 0; piece < pieces.topics().size(); ++piece) {
    const auto read = pieces.read(piece, [&](const TracedEvent& traced, std::uint64_t number) {
      all.push_back({number, traced});
    });
    EXPECT_TRUE(read.ok()) << read.failure().message;
  }
  EXPECT_TRUE(std::ranges::is_sorted(all, {}, &Numbered::number));
  std::ranges::stable_sort(all, {}, [](const Numbered& one) { return one.traced.time_ns; });
  return all;
}

void expect_equal(const EventPieces& pieces, const RunTrace& trace) {
  const auto all = all_of(pieces);
  ASSERT_EQ(all.size(), trace.events.size());
  ASSERT_EQ(pieces.event_count(), trace.events.size());
  ASSERT_EQ(pieces.frame().lives.size(), trace.lives.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const TracedEvent& expected = trace.events[i];
    ASSERT_EQ(all[i].traced.event, expected.event) << i;
    ASSERT_EQ(all[i].traced.time_ns, expected.time_ns);
    ASSERT_EQ(all[i].traced.life, expected.life);
    ASSERT_EQ(pieces.frame().actor_of(all[i].traced), trace.actor_of(expected));
  }
}

// A process that records events of any actor. As long as it is there it looks as if it lived, or had been killed: what
// it has not written is in its ring.
class Process {
 public:
  Process(const std::string& run, const std::string& name, std::int64_t begun_s)
      : clock_(std::make_shared<ManualClock>()) {
    clock_->advance(std::chrono::seconds(begun_s));
    tracer_ =
        std::make_shared<Tracer>(TracerSettings{TraceLevel::kAll, 4096, 7, run + "/trace/" + name + ".ring"}, clock_);
    drain_ = std::make_unique<TraceDrain>(tracer_, trace_path(run, name), name);
  }
  void record(std::size_t count, std::mt19937& random) {
    for (; count > 0; --count) {
      TraceEvent event;
      event.kind = random() % 2 == 0 ? TraceKind::kPlan : TraceKind::kCommit;
      event.cause.step = StepId{random() % 100};
      event.cause.position = JournalPosition{random() % 100};
      clock_->advance(std::chrono::microseconds(random() % 3));
      ActorTrace(tracer_, compose("actor", random() % 5)).record(event);
    }
  }
  void flush() { ASSERT_TRUE(drain_->flush().ok()); }

 private:
  std::shared_ptr<ManualClock> clock_;
  std::shared_ptr<Tracer> tracer_;
  std::unique_ptr<TraceDrain> drain_;
};

using Processes = std::vector<std::unique_ptr<Process>>;

// Two lives of one process, the first one killed; another that still runs.
Processes live(const std::string& run, std::mt19937& random) {
  Processes all;
  for (const char* const name : {"node1", "node1", "spawner"}) {
    all.push_back(std::make_unique<Process>(run, name, 1 + std::ssize(all)));
    all.back()->record(300 + random() % 500, random);
    all.back()->flush();
    all.back()->record(random() % 50, random);
  }
  return all;
}

TEST(EventPieces, OfARunDirectoryHaveAllThatItsTraceHas) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 10; ++round) {
    const Scratch scratch;
    const std::string run = scratch.path().string();
    const Processes processes = live(run, random);
    const auto pieces = read_pieces(run, 1 + random() % 400);
    ASSERT_TRUE(pieces.ok()) << pieces.failure().message;
    const auto trace = read_run_trace(run);
    ASSERT_TRUE(trace.ok());
    ASSERT_EQ(trace->lives.size(), 3U);
    expect_equal(**pieces, *trace);
    expect_equal(*pieces_of(*trace, 1 + random() % 400), *trace);
  }
}

TEST(EventPieces, KnowWhatTheirEventsAreAbout) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const Scratch scratch;
  const Processes processes = live(scratch.path().string(), random);
  const auto pieces = read_pieces(scratch.path().string(), 50);
  ASSERT_TRUE(pieces.ok());
  for (std::size_t piece = 0; piece < (*pieces)->topics().size(); ++piece) {
    const PieceTopics& topics = (*pieces)->topics()[piece];
    PieceTopics found;
    ASSERT_TRUE((*pieces)
                    ->read(piece,
                           [&](const TracedEvent& traced, std::uint64_t) {
                             found.add(traced.event);
                             found.times.add(time_number(traced.time_ns));
                           })
                    .ok());
    for (const auto range : {&PieceTopics::positions, &PieceTopics::steps, &PieceTopics::times}) {
      EXPECT_EQ((topics.*range).least, (found.*range).least);
      EXPECT_EQ((topics.*range).most, (found.*range).most);
    }
    for (const TraceKind kind : {TraceKind::kPlan, TraceKind::kCommit, TraceKind::kFault}) {
      EXPECT_EQ(topics.kinds.has(kind), found.kinds.has(kind));
    }
    EXPECT_TRUE(topics.kinds.touches({TraceKind::kPlan, TraceKind::kCommit}));
    EXPECT_FALSE(topics.kinds.touches({TraceKind::kFault})) << "there is none";
  }
}

TEST(EventPieces, StayAsTheyWereWhileTheRunGoesOn) {
  std::mt19937 random(1);
  const Scratch scratch;
  const std::string run = scratch.path().string();
  Process killed(run, "node1", 1);
  killed.record(700, random);
  killed.flush();
  killed.record(20, random);
  std::ofstream(trace_path(run, "node1"), std::ios::app) << "SHTR torn";
  const auto trace = read_run_trace(run);
  const auto pieces = read_pieces(run, 100);
  ASSERT_TRUE(pieces.ok());
  Process again(run, "node1", 2);  // takes over the ring of the life before, in the place of the torn block
  again.record(100, random);
  again.flush();
  expect_equal(**pieces, *trace);
  EXPECT_EQ(read_run_trace(run)->events.size(), trace->events.size() + 100) << "the control";
}

TEST(EventPieces, OfAFileThatIsAnotherByNowAreAnError) {
  std::mt19937 random(1);
  const Scratch scratch;
  const std::string run = scratch.path().string();
  Process process(run, "node1", 1);
  process.record(700, random);
  process.flush();
  const auto pieces = read_pieces(run, 100);
  ASSERT_TRUE(pieces.ok());
  const auto ignore = [](const TracedEvent&, std::uint64_t) {};
  ASSERT_TRUE((*pieces)->read(0, ignore).ok()) << "the control";
  std::filesystem::resize_file(trace_path(run, "node1"), 200);
  const auto read = (*pieces)->read(0, ignore);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.failure().error, Error::kIo);
  EXPECT_THAT(read.failure().message, HasSubstr("is not what it was a moment ago"));
}

TEST(EventPieces, AreSmallerTheMoreFilesThereAre) {
  EXPECT_EQ(piece_events_of(0), 2048U);
  EXPECT_EQ(piece_events_of(5), 2048U);
  EXPECT_EQ(piece_events_of(256), 1024U);
  EXPECT_EQ(piece_events_of(100'000), 256U);
}

TEST(EventPieces, SayWhyThereAreNone) {
  const Scratch scratch;
  EXPECT_EQ(read_pieces(scratch.path().string()).failure().error, Error::kInvalidData);
  EXPECT_EQ(read_pieces((scratch.path() / "nowhere").string()).failure().error, Error::kUsage);
  std::filesystem::create_directory(scratch.path() / "trace");
  (void)scratch.file("trace/node1.trace", "something else");
  EXPECT_THAT(read_pieces(scratch.path().string()).failure().message, HasSubstr("is not a trace file"));
}

}  // namespace
}  // namespace shoal::event_pieces_test
