// Letters and journal entries as events: the word, the cause and the bytes are those of the message.
#include "runtime/trace/trace_words.h"

#include <gtest/gtest.h>

#include <functional>

#include "runtime/journal/view.h"
#include "runtime/trace/run_event_detail.h"
#include "tests/runtime/data/scratch.h"
#include "tests/support/manual_clock.h"

namespace shoal::trace_words_test {
namespace {

TEST(TraceWords, SayWhatALetterIsAbout) {
  Forward forward;
  forward.cause.step = StepId{7};
  forward.cause.microbatch = MicrobatchId{3};
  EXPECT_EQ(word_of(forward), "Forward");
  EXPECT_EQ(cause_of(forward), forward.cause);
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
  EXPECT_EQ(word_of(SaveShard{}), "SaveShard");
  EXPECT_EQ(word_of(RunEvent{}), "RunEvent");
}

TEST(TraceWords, CountTheBytesOfAFilesPiece) {
  const Scratch scratch;
  const std::string path = trace_path(scratch.path().string(), "node1");
  const auto tracer = std::make_shared<Tracer>(TracerSettings{}, std::make_shared<ManualClock>());
  FileChunk chunk;
  chunk.bytes = {DType::kUint8, {16}, std::make_shared<AlignedBuffer>(16)};
  trace_letter(ActorTrace(tracer, "tracer"), TraceKind::kDrop, Letter{{}, {}, chunk});
  { TraceDrain drain(tracer, path, "node1"); }
  EXPECT_EQ(read_trace_file(path)->at(0).events.at(0).bytes, 16U);
}

TEST(TraceWords, NameTheRoundThatALetterIsAbout) {
  const Scratch scratch;
  const std::string path = trace_path(scratch.path().string(), "node1");
  const auto tracer = std::make_shared<Tracer>(TracerSettings{}, std::make_shared<ManualClock>());
  Prepare of_round;
  of_round.order.round = {1, 3};
  trace_letter(ActorTrace(tracer, "sync_group/0"), TraceKind::kPhase, Letter{{}, {}, of_round});
  trace_letter(ActorTrace(tracer, "sync_group/0"), TraceKind::kPhase, Letter{{}, {}, Prepare{}});
  { TraceDrain drain(tracer, path, "node1"); }
  const auto events = read_trace_file(path)->at(0).events;
  EXPECT_EQ(events.at(0).detail_text(), "Prepare round 3.1");
  EXPECT_EQ(events.at(1).detail_text(), "Prepare");
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

std::vector<TraceEvent> events_of(const std::function<void(const ActorTrace&)>& record) {
  const Scratch scratch;
  const std::string path = trace_path(scratch.path().string(), "spawner");
  const auto tracer = std::make_shared<Tracer>(TracerSettings{}, std::make_shared<ManualClock>());
  {
    const TraceDrain drain(tracer, path, "spawner");
    record(ActorTrace(tracer, "supervisor"));
  }
  return read_trace_file(path)->at(0).events;
}

JournalEntry commit_of(std::vector<std::uint32_t> microbatches) {
  StageCommit stage{StageId{1}, Epoch{Incarnation{5}, 3}, 77, {}};
  stage.manifests.push_back({Incarnation{12}, {}});
  for (const std::uint32_t index : microbatches) stage.manifests[0].entries.push_back({MicrobatchId{index}, 8, 0, {}});
  Commit commit;
  commit.step = StepId{4};
  commit.token_count = 800;
  commit.stages = {stage};
  return {JournalPosition{9}, Branch{1}, Term{2}, commit};
}

TEST(TraceWords, ACommitIsRecordedWithWhatEachMemberContributed) {
  const auto events = events_of([](const ActorTrace& trace) { trace_whole_entry(trace, commit_of({0, 7, 300}), 0); });
  ASSERT_EQ(events.size(), 4U) << "the commit, its stage, and two parts of a manifest";
  EXPECT_EQ(events[0].kind, TraceKind::kCommit);
  EXPECT_EQ(events[0].subject, 800U);
  EXPECT_EQ(events[1].kind, TraceKind::kStageCommit);
  EXPECT_EQ(events[1].cause.attempt, 3U);
  EXPECT_EQ(events[1].bytes, 77U);
  EXPECT_EQ(events[2].kind, TraceKind::kManifest);
  EXPECT_EQ(events[2].subject, 12U);
  EXPECT_EQ(events[2].bytes, 2U);
  EXPECT_EQ(static_cast<unsigned char>(events[2].detail[0]), 0x81);
  EXPECT_EQ(events[3].cause.microbatch, MicrobatchId{kManifestBits});
  EXPECT_EQ(events[3].bytes, 1U);
  EXPECT_EQ(events_of([](const ActorTrace& trace) { trace_whole_entry(trace, commit_of({})); }).size(), 3U)
      << "a member without microbatches is a member";
}

TEST(TraceWords, EqualCommitsHaveOneNumberWithOrWithoutDetails) {
  const JournalEntry whole = commit_of({0, 1});
  const auto number = [](const JournalEntry& entry) { return content_number(std::get<Commit>(entry.body)); };
  EXPECT_EQ(number(whole), number(without_details(whole)));
  JournalEntry other = whole;
  std::get<Commit>(other.body).stages[0].digest = 78;
  EXPECT_NE(number(whole), number(other));
  other = whole;
  std::get<Commit>(other.body).loss_sum = 1e-300;
  EXPECT_NE(number(whole), number(other));
}

TEST(TraceWords, LettersSayWhomTheyAreForOrFrom) {
  EXPECT_EQ(subject_of({{}, to_stage({}, Incarnation{3}), Backward{}}), Incarnation{3});
  Manifest manifest;
  manifest.member = Incarnation{4};
  EXPECT_EQ(subject_of({{}, to_sync_group(StageId{1}), manifest}), Incarnation{4});
  EXPECT_EQ(subject_of({{}, to_supervisor(), Heartbeat{}}), Incarnation{});
}

TEST(TraceWords, AnEventOfTheRunIsReadAsItWasRecorded) {
  const Scratch scratch;
  const std::string path = trace_path(scratch.path().string(), "spawner");
  const auto tracer = std::make_shared<Tracer>(TracerSettings{}, std::make_shared<ManualClock>());
  trace_event(ActorTrace(tracer, "supervisor"), {}, RunEvent{RunEventKind::kProcessLost, "node2:1", "it died", 3});
  { TraceDrain drain(tracer, path, "spawner"); }
  const auto events = read_trace_file(path)->at(0).events;
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].kind, TraceKind::kFault);
  const auto told = run_event_of(events[0].detail_text());
  ASSERT_TRUE(told);
  EXPECT_EQ(told->kind, RunEventKind::kProcessLost);
  EXPECT_EQ(told->subject, "node2:1");
  EXPECT_EQ(run_event_of("restarted")->subject, "") << "a caretaker names no subject";
  EXPECT_FALSE(run_event_of("stage_endedly 3"));
  EXPECT_FALSE(run_event_of(""));
}

}  // namespace
}  // namespace shoal::trace_words_test
