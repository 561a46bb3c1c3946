// Letters and journal entries as events: the word, the cause and the bytes are those of the message.
#include "runtime/trace/trace_words.h"

#include <gtest/gtest.h>

#include "tests/runtime/data/scratch.h"
#include "tests/support/manual_clock.h"

namespace shoal {
namespace {

TensorBlob blob_of(std::int64_t bytes) {
  return {DType::kUint8, {bytes}, std::make_shared<AlignedBuffer>(static_cast<std::size_t>(bytes))};
}

TEST(TraceWords, SayWhatALetterIsAbout) {
  Forward forward;
  forward.cause.step = StepId{7};
  forward.cause.microbatch = MicrobatchId{3};
  forward.input = blob_of(100);
  forward.targets = blob_of(20);
  EXPECT_EQ(word_of(forward), "Forward");
  EXPECT_EQ(cause_of(forward), forward.cause);
  EXPECT_EQ(tensor_bytes(forward), 120U);
  Prepare prepare;
  prepare.order.run = RunId{5};
  prepare.order.term = Term{2};
  prepare.order.step = StepId{9};
  EXPECT_EQ(word_of(prepare), "Prepare");
  EXPECT_EQ(cause_of(prepare).run, RunId{5});
  EXPECT_EQ(cause_of(prepare).term, Term{2});
  EXPECT_EQ(cause_of(prepare).step, StepId{9});
  ReplicaReport report;
  report.branch = Branch{1};
  report.step = StepId{4};
  EXPECT_EQ(cause_of(report).branch, Branch{1});
  EXPECT_EQ(cause_of(report).step, StepId{4});
  SaveShard shard;
  shard.image = blob_of(8);
  EXPECT_EQ(word_of(shard), "SaveShard");
  EXPECT_EQ(tensor_bytes(shard), 8U);
  EXPECT_EQ(word_of(RunEvent{}), "RunEvent");
}

TEST(TraceWords, RecordLettersAndEntriesInOneLine) {
  const Scratch scratch;
  const std::string path = trace_path(scratch.path().string(), "spawner");
  const auto tracer = std::make_shared<Tracer>(TracerSettings{}, std::make_shared<ManualClock>());
  const ActorTrace trace(tracer, "supervisor");
  trace_letter(trace, TraceKind::kSend, Letter{{}, {}, Heartbeat{}});
  trace_letter(trace, TraceKind::kDrop, Letter{{}, {}, Heartbeat{}});
  trace_entry(trace, {JournalPosition{1}, Branch{2}, Term{3}, RemoveReplica{}});
  Commit commit;
  commit.step = StepId{12};
  trace_entry(trace, {JournalPosition{2}, Branch{2}, Term{3}, commit});
  { TraceDrain drain(tracer, path, "spawner"); }
  const auto events = read_trace_file(path)->at(0).events;
  ASSERT_EQ(events.size(), 3U) << "sends are left out at this level";
  EXPECT_EQ(events[0].detail_text(), "Heartbeat");
  EXPECT_EQ(events[1].kind, TraceKind::kView);
  EXPECT_EQ(events[1].detail_text(), "RemoveReplica");
  EXPECT_EQ(events[2].kind, TraceKind::kCommit);
  EXPECT_EQ(events[2].cause.step, StepId{12});
  EXPECT_EQ(events[2].cause.position, JournalPosition{2});
}

}  // namespace
}  // namespace shoal
