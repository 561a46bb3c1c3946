// Reads the fields that messages have in common by their names.
#include "runtime/trace/trace_words.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <span>
#include <type_traits>

#include "messages/catalogue/facts.h"
#include "messages/values/run_events.h"
#include "runtime/base/compose.h"

namespace shoal {
namespace {

template <class Body>
Cause cause_in(const Body& body) {
  Cause cause;
  if constexpr (requires { cause = body.cause; }) return body.cause;
  if constexpr (requires { cause.term = body.order.term; }) {
    cause.run = body.order.run;
    cause.term = body.order.term;
    cause.branch = body.order.branch;
    cause.step = body.order.step;
    cause.hop = body.order.stage.value;
    cause.attempt = body.order.epoch.counter;
  }
  if constexpr (requires { cause.position = body.position; }) cause.position = body.position;
  if constexpr (requires { cause.run = body.run; }) cause.run = body.run;
  if constexpr (requires { cause.branch = body.branch; }) cause.branch = body.branch;
  if constexpr (requires { cause.term = body.term; }) cause.term = body.term;
  if constexpr (requires { cause.step = body.step; }) cause.step = body.step;
  return cause;
}

template <class Body>
Incarnation replica_in(const Body& body) {
  if constexpr (requires { body.member; }) return body.member;
  if constexpr (requires { body.replica; }) return body.replica;
  if constexpr (requires { body.sender; }) return body.sender;
  return {};
}

bool is_evaluation(const MessageBody& body) {
  return std::visit(
      [](const auto& one) {
        if constexpr (requires { one.purpose; }) return one.purpose == Purpose::kEvaluate;
        return false;
      },
      body);
}

// FNV-1a over the fields' bytes.
struct Content {
  std::uint64_t number = 0xcbf29ce484222325U;
  template <class Field>
  void add(const Field& field) {
    const auto bytes = std::as_bytes(std::span(&field, 1));
    for (const std::byte byte : bytes) number = (number ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001b3U;
  }
};

Cause cause_of_entry(const JournalEntry& entry, StepId step) {
  Cause cause;
  cause.branch = entry.branch;
  cause.term = entry.term;
  cause.position = entry.position;
  cause.step = step;
  return cause;
}

struct EntryWriter {
  const ActorTrace& trace;
  const JournalEntry& entry;
  std::uint64_t parent = 0;

  void operator()(const AddReplica& added) const {
    TraceEvent event = view_event("AddReplica", added.stage, StepId{added.version});
    event.cause.attempt = added.slot.value;
    event.subject = added.replica.value;
    event.bytes = added.process.value;
    trace.record(event);
  }
  void operator()(const RemoveReplica& removed) const {
    TraceEvent event = view_event("RemoveReplica", removed.stage, {});
    event.subject = removed.replica.value;
    trace.record(event);
  }
  void operator()(const AppointGroup& appointed) const {
    TraceEvent event = view_event("AppointGroup", appointed.stage, {});
    event.subject = appointed.group.value;
    trace.record(event);
  }
  void operator()(const Commit& commit) const {
    TraceEvent event = view_event(commit.skip ? "skipped" : "", {}, commit.step);
    event.kind = TraceKind::kCommit;
    event.subject = commit.token_count;
    event.bytes = content_number(commit);
    trace.record(event);
  }
  void operator()(const FinishRun&) const { trace.record(view_event("FinishRun", {}, {})); }
  void operator()(const Quarantine& quarantine) const {
    TraceEvent event = view_event("Quarantine", {}, quarantine.step);
    event.cause.microbatch = quarantine.microbatch;
    trace.record(event);
  }
  void operator()(const CommitRound& commit) const {
    TraceEvent event = view_event("CommitRound", commit.stage, commit.step);
    event.subject = commit.round.number;
    event.cause.attempt = commit.round.fragment;
    event.bytes = commit.digest;
    trace.record(event);
  }

 private:
  [[nodiscard]] TraceEvent view_event(std::string_view word, StageId stage, StepId step) const {
    TraceEvent event;
    event.kind = TraceKind::kView;
    event.cause = cause_of_entry(entry, step);
    event.cause.hop = stage.value;
    event.cause.parent_span = parent;
    event.set_detail(word);
    return event;
  }
};

// A member's microbatches as bitmaps, as many events as it takes; one also for a member without any.
void trace_manifest(const ActorTrace& trace, TraceEvent event, const std::vector<ManifestEntry>& entries) {
  event.kind = TraceKind::kManifest;
  std::uint32_t last = 0;
  for (const ManifestEntry& entry : entries) last = std::max(last, entry.microbatch.value);
  for (std::uint32_t first = 0; first <= last; first += kManifestBits) {
    event.cause.microbatch = MicrobatchId{first};
    event.bytes = 0;
    event.detail.fill('\0');
    for (const ManifestEntry& entry : entries) {
      if (entry.microbatch.value < first || entry.microbatch.value - first >= kManifestBits) continue;
      const std::uint32_t bit = entry.microbatch.value - first;
      event.detail[bit / 8] = static_cast<char>(event.detail[bit / 8] | 1U << bit % 8);
      ++event.bytes;
    }
    trace.record(event);
  }
}

void trace_stage(const ActorTrace& trace, const Cause& cause, const StageCommit& stage) {
  TraceEvent event;
  event.kind = TraceKind::kStageCommit;
  event.cause = cause;
  event.cause.hop = stage.stage.value;
  event.cause.attempt = stage.epoch.counter;
  event.subject = stage.epoch.group.value;
  event.bytes = stage.digest;
  trace.record(event);
  for (const MemberManifest& manifest : stage.manifests) {
    event.subject = manifest.member.value;
    trace_manifest(trace, event, manifest.entries);
  }
}

// "round 3.1" of a letter about the third round of fragment 1; a step's order names the same things otherwise.
void add_round(TraceEvent& event, const MessageBody& body) {
  std::visit(
      [&event](const auto& one) {
        if constexpr (requires { one.order.round.number; }) {
          const RoundId& round = one.order.round;
          if (round.number != 0) event.add_detail(compose("round ", round.number, ".", round.fragment));
        }
      },
      body);
}

TraceKind kind_of(RunEventKind told) {
  switch (told) {
    case RunEventKind::kProcessLost:
    case RunEventKind::kStageEnded:
    case RunEventKind::kStageLost:
    case RunEventKind::kStartFailed:
    case RunEventKind::kCheckpointFailed: return TraceKind::kFault;
    case RunEventKind::kRolledBack: return TraceKind::kRollBack;
    case RunEventKind::kRestarted: return TraceKind::kRestart;
    default: return TraceKind::kNote;
  }
}

}  // namespace

std::uint64_t content_number(const Commit& commit) {
  Content content;
  content.add(commit.step.value);
  for (const StageCommit& stage : commit.stages) {
    content.add(stage.stage.value);
    content.add(stage.epoch.group.value);
    content.add(stage.epoch.counter);
    content.add(stage.digest);
  }
  for (const double number : {commit.gradient_norm, commit.loss_sum, commit.learning_rate, commit.clip_scale}) {
    content.add(number);
  }
  content.add(commit.token_count);
  content.add(commit.optimizer_step);
  content.add(commit.skip.has_value());
  if (commit.skip) content.add(commit.skip->microbatch.value);
  return content.number;
}

std::string_view word_of(const MessageBody& body) { return facts_of(body).name; }

Cause cause_of(const MessageBody& body) {
  return std::visit([](const auto& one) { return cause_in(one); }, body);
}

void trace_letter(const ActorTrace& trace, TraceKind kind, const Letter& letter, std::int64_t time_ns) {
  if (!trace.wants(kind)) return;
  TraceEvent event;
  event.time_ns = time_ns;
  event.kind = kind;
  event.span = letter.span;
  event.cause = cause_of(letter.body);
  event.bytes = tensor_bytes(letter.body);
  event.subject = subject_of(letter).value;
  event.set_detail(word_of(letter.body));
  add_round(event, letter.body);
  if (is_evaluation(letter.body)) event.add_detail("evaluate");
  if (const auto* refusal = std::get_if<Refusal>(&letter.body)) event.add_detail(to_text(refusal->reason));
  if (const auto* answer = std::get_if<AskAnswer>(&letter.body)) {
    event.add_detail(answer->state == AskState::kWorking ? "working" : "unknown");
  }
  trace.record(event);
}

Incarnation subject_of(const Letter& letter) {
  if (letter.to.incarnation.value != 0) return letter.to.incarnation;
  return std::visit([](const auto& body) { return replica_in(body); }, letter.body);
}

void trace_entry(const ActorTrace& trace, const JournalEntry& entry) {
  std::visit(EntryWriter{trace, entry}, entry.body);
}

void trace_whole_entry(const ActorTrace& trace, const JournalEntry& entry, std::uint64_t parent) {
  std::visit(EntryWriter{trace, entry, parent}, entry.body);
  if (const auto* commit = std::get_if<Commit>(&entry.body)) {
    for (const StageCommit& stage : commit->stages) trace_stage(trace, cause_of_entry(entry, commit->step), stage);
  }
}

void trace_event(const ActorTrace& trace, const Cause& cause, const RunEvent& told, std::uint64_t span) {
  TraceEvent event;
  event.kind = kind_of(told.kind);
  event.cause = cause;
  event.span = span;
  event.set_detail(word_of(told.kind));
  event.add_detail(told.subject);
  trace.record(event);
}

}  // namespace shoal
