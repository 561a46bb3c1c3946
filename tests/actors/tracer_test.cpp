// The tracer actor as a shell: what was recorded is in the file after a tick, after its death, and after its
// successor's.
#include "actors/tracer.h"

#include <gtest/gtest.h>

#include "tests/actors/lone_actor.h"
#include "tests/runtime/data/scratch.h"
#include "tests/support/manual_clock.h"

namespace shoal::tracer_test {
namespace {

using namespace std::chrono_literals;

TEST(TracerActor, WritesByTicksAndOnceMoreWhenItEnds) {
  const Scratch scratch;
  LoneActor lone;
  const auto recorder = std::make_shared<Tracer>(TracerSettings{}, std::make_shared<ManualClock>());
  const std::string path = trace_path(scratch.path().string(), "node1");
  const ActorTrace trace(recorder, "supervisor");
  const TracerActorSettings settings{recorder, path, "node1"};
  const TracerActor first = lone.spawn(tracer, settings);
  trace.record(TraceKind::kCommit, {}, 1);
  EXPECT_TRUE(read_trace_file(path)->at(0).events.empty());
  lone.advance(100ms);
  EXPECT_EQ(read_trace_file(path)->at(0).events.size(), 1U);
  trace.record(TraceKind::kCommit, {}, 2);
  lone.end(first);
  EXPECT_EQ(read_trace_file(path)->at(0).events.size(), 2U);
  trace.record(TraceKind::kCommit, {}, 3);
  lone.spawn(tracer, settings);
  const auto lives = read_trace_file(path);
  ASSERT_EQ(lives->size(), 2U);
  EXPECT_EQ(lives->at(1).events.at(0).bytes, 3U);
}

// Sent in time is only what is in the file before the actor ends.
TEST(TracerActor, SaysBeforeItEndsThatAProcessThatIsAwaitedEndsInOrder) {
  const Scratch scratch;
  LoneActor lone;
  const auto recorder = std::make_shared<Tracer>(TracerSettings{}, std::make_shared<ManualClock>());
  const std::string path = trace_path(scratch.path().string(), "node1");
  const auto files = std::make_shared<NodeFiles>();
  lone.spawn(tracer, TracerActorSettings{recorder, path, "node1", {}, nullptr, files});
  ActorTrace(recorder, "stage").record(TraceKind::kCommit, {}, 1);
  lone.advance(100ms);
  EXPECT_FALSE(read_trace_file(path)->at(0).is_whole);
  wait_until_arrived(*files, 0ms);
  lone.advance(100ms);
  EXPECT_TRUE(read_trace_file(path)->at(0).is_whole);
}

// The run directory has room for 8 KiB of the log and of the trace of each node.
TEST(TracerActor, StopsWritingAndSendingWhereTheRunDirectoryIsFull) {
  constexpr std::uint64_t kBytesMax = 8192;
  const Scratch scratch;
  LoneActor lone;
  std::filesystem::create_directory(scratch.path() / "run");
  RemoteFiles storage(scratch.path() / "run", kBytesMax);
  const auto recorder = std::make_shared<Tracer>(TracerSettings{}, std::make_shared<ManualClock>());
  const std::string path = trace_path(scratch.path().string(), "node1");
  const auto files = std::make_shared<NodeFiles>();
  files->name = "node7";
  files->log_stream = FileStream(kBytesMax);
  files->trace_stream = FileStream(kBytesMax);
  const TracerActor actor = lone.spawn(tracer, TracerActorSettings{recorder, path, "node7", lone.router(), {}, files});
  const ActorTrace trace(recorder, "stage");
  std::size_t answered = 0;
  const auto live = [&](std::chrono::seconds time) {
    for (Duration passed{}; passed < time; passed += 100ms) {
      for (int i = 0; i < 3; ++i) trace.record(TraceKind::kCommit, {}, 1);
      files->log.add("a line of the log\n");
      lone.advance(100ms);
      for (const auto chunks = lone.sent<FileChunk>(); answered < chunks.size(); ++answered) {
        const auto size = storage.keep(chunks[answered]);
        ASSERT_TRUE(size.ok()) << size.failure().message;
        lone.give(actor, FileKept{chunks[answered].kind, *size});
      }
    }
  };
  live(60s);
  const std::size_t sent = lone.sent<FileChunk>().size();
  const auto own_size = std::filesystem::file_size(path);
  live(120s);
  EXPECT_EQ(lone.sent<FileChunk>().size(), sent) << "nothing more is wanted";
  EXPECT_EQ(std::filesystem::file_size(path), own_size);
  EXPECT_LE(own_size, kBytesMax);
  EXPECT_EQ(std::filesystem::file_size(scratch.path() / "run" / "logs" / "node7.log"), kBytesMax);
  const auto there = read_trace_file(trace_path((scratch.path() / "run").string(), "node7"));
  ASSERT_EQ(there->size(), 1U);
  EXPECT_GT(there->at(0).dropped, 0U);
  EXPECT_TRUE(there->at(0).lacks_end);
  EXPECT_FALSE(there->at(0).is_whole);
}

TEST(TracerActor, GoesOnWhenTheDiskRefuses) {
  const Scratch scratch;
  LoneActor lone;
  const auto recorder = std::make_shared<Tracer>(TracerSettings{}, std::make_shared<ManualClock>());
  const auto blocked = scratch.file("trace", "not a folder");
  lone.spawn(tracer, TracerActorSettings{recorder, trace_path(scratch.path().string(), "node1"), "node1"});
  ActorTrace(recorder, "supervisor").record(TraceKind::kFault, {});
  lone.advance(100ms);
  std::filesystem::remove(blocked);
  lone.advance(100ms);
  EXPECT_EQ(read_trace_file(trace_path(scratch.path().string(), "node1"))->size(), 1U) << "it tries again";
}

}  // namespace
}  // namespace shoal::tracer_test
