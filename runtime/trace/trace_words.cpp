// Reads the fields that messages have in common by their names.
#include "runtime/trace/trace_words.h"

#include <array>
#include <type_traits>

namespace shoal {
namespace {

// In the order of MessageBody's alternatives.
constexpr std::array<std::string_view, 48> kWords = {"Forward",
                                                     "Backward",
                                                     "Refusal",
                                                     "Ask",
                                                     "AskAnswer",
                                                     "Open",
                                                     "Zero",
                                                     "Prepare",
                                                     "Reduce",
                                                     "Manifest",
                                                     "Reduced",
                                                     "Part",
                                                     "Prepared",
                                                     "Missing",
                                                     "Progress",
                                                     "AllAnswered",
                                                     "AskHolders",
                                                     "Holders",
                                                     "JournalEntries",
                                                     "FetchJournal",
                                                     "Hello",
                                                     "Join",
                                                     "Welcome",
                                                     "JoinRefused",
                                                     "Peers",
                                                     "SpawnStage",
                                                     "StageReady",
                                                     "StageEnded",
                                                     "Heartbeat",
                                                     "EndProcess",
                                                     "Leaving",
                                                     "ProcessLost",
                                                     "SaveShard",
                                                     "CheckpointSaved",
                                                     "CheckpointFailed",
                                                     "FetchState",
                                                     "StateImage",
                                                     "StateUnavailable",
                                                     "ReplicaReport",
                                                     "EvaluationResult",
                                                     "RunEvent",
                                                     "EndStage",
                                                     "HeartbeatEcho",
                                                     "PeerUnreachable",
                                                     "Inject",
                                                     "SaveState",
                                                     "StepSum",
                                                     "FileChunk"};
static_assert(kWords.size() == std::variant_size_v<MessageBody>);
static_assert(std::is_same_v<std::variant_alternative_t<7, MessageBody>, Prepare>);
static_assert(std::is_same_v<std::variant_alternative_t<20, MessageBody>, Hello>);
static_assert(std::is_same_v<std::variant_alternative_t<47, MessageBody>, FileChunk>);

template <class Body>
Cause cause_in(const Body& body) {
  Cause cause;
  if constexpr (requires { cause = body.cause; }) return body.cause;
  if constexpr (requires { cause.term = body.order.term; }) {
    cause.run = body.order.run;
    cause.term = body.order.term;
    cause.branch = body.order.branch;
    cause.step = body.order.step;
  }
  if constexpr (requires { cause.run = body.run; }) cause.run = body.run;
  if constexpr (requires { cause.branch = body.branch; }) cause.branch = body.branch;
  if constexpr (requires { cause.term = body.term; }) cause.term = body.term;
  if constexpr (requires { cause.step = body.step; }) cause.step = body.step;
  return cause;
}

template <class Body>
std::uint64_t bytes_in(const Body& body) {
  std::uint64_t bytes = 0;
  if constexpr (requires { body.input.byte_count(); }) bytes += body.input.byte_count();
  if constexpr (requires { body.targets.byte_count(); }) bytes += body.targets.byte_count();
  if constexpr (requires { body.input_gradient.byte_count(); }) bytes += body.input_gradient.byte_count();
  if constexpr (requires { body.values.byte_count(); }) bytes += body.values.byte_count();
  if constexpr (requires { body.image.byte_count(); }) bytes += body.image.byte_count();
  return bytes;
}

template <class... Cases>
struct Match : Cases... {
  using Cases::operator()...;
};

}  // namespace

std::string_view word_of(const MessageBody& body) { return kWords[body.index()]; }

Cause cause_of(const MessageBody& body) {
  return std::visit([](const auto& one) { return cause_in(one); }, body);
}

std::uint64_t tensor_bytes(const MessageBody& body) {
  return std::visit([](const auto& one) { return bytes_in(one); }, body);
}

void trace_letter(const ActorTrace& trace, TraceKind kind, const Letter& letter) {
  if (!trace.wants(kind)) return;
  trace.record(kind, cause_of(letter.body), tensor_bytes(letter.body), word_of(letter.body));
}

void trace_entry(const ActorTrace& trace, const JournalEntry& entry) {
  Cause cause;
  cause.branch = entry.branch;
  cause.term = entry.term;
  cause.position = entry.position;
  const auto view = [&](std::string_view word) { trace.record(TraceKind::kView, cause, 0, word); };
  std::visit(Match{[&](const AddReplica&) { view("AddReplica"); },        //
                   [&](const RemoveReplica&) { view("RemoveReplica"); },  //
                   [&](const AppointGroup&) { view("AppointGroup"); },    //
                   [&](const FinishRun&) { view("FinishRun"); }, [&](const Quarantine&) { view("Quarantine"); },
                   [&](const Commit& commit) {
                     cause.step = commit.step;
                     trace.record(TraceKind::kCommit, cause, 0, commit.skip ? "skipped" : "");
                   }},
             entry.body);
}

}  // namespace shoal
