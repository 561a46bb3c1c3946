// What letters and journal entries are in a trace, so that an actor records one with one line.
//
//   trace_letter(trace, TraceKind::kSend, letter)   router: post, deliver, undeliverable (kSend, kReceive, kDrop)
//   trace_entry(trace, entry)                       supervisor: appended; stage: followed
//
// A no-op, apart from one comparison, for kinds that the level leaves out.
#pragma once

#include <string_view>

#include "messages/letter.h"
#include "runtime/trace/tracer.h"

namespace shoal {

// "Forward", "Prepare", ...: the name of the message's type.
[[nodiscard]] std::string_view word_of(const MessageBody& body);
// What the message says of its cause: all of it in the pipeline's conversation, run, branch, term and step of an order,
// branch and step elsewhere.
[[nodiscard]] Cause cause_of(const MessageBody& body);
// Bytes of the tensors in it.
[[nodiscard]] std::uint64_t tensor_bytes(const MessageBody& body);

void trace_letter(const ActorTrace& trace, TraceKind kind, const Letter& letter);
// Commits as kCommit, membership and the run's end as kView.
void trace_entry(const ActorTrace& trace, const JournalEntry& entry);

}  // namespace shoal
