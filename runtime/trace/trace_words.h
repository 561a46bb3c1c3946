// Words for letters and journal entries in a trace, so that an actor records one with one line.
//
//   trace_letter(trace, TraceKind::kSend, letter)   router: post, deliver, undeliverable (kSend, kReceive, kDrop)
//   trace_entry(trace, entry)                       stage: followed         trace_whole_entry: supervisor, appended
//   trace_event(trace, cause, event)                supervisor: what it announces
//
// A no-op, apart from one comparison, for kinds that the level leaves out.
#pragma once

#include <string_view>

#include "messages/letter.h"
#include "runtime/trace/tracer.h"

namespace shoal {

// "Forward", "Prepare", ...: the name of the message's type.
[[nodiscard]] std::string_view word_of(const MessageBody& body);
// Returns what the message says of its cause: all of it in the pipeline's conversation; run, branch, term and step in
// an order; branch and step elsewhere.
[[nodiscard]] Cause cause_of(const MessageBody& body);

// Returns the replica that the letter is for; else the one it is from or about where it says so; else 0.
[[nodiscard]] Incarnation subject_of(const Letter& letter);

// time_ns: when it happened (ActorTrace::now_ns), or 0: now.
void trace_letter(const ActorTrace& trace, TraceKind kind, const Letter& letter, std::int64_t time_ns = 0);
// Records commits as kCommit, membership and the run's end as kView: what every follower of the journal records.
void trace_entry(const ActorTrace& trace, const JournalEntry& entry);
// The same and, of a commit, what each stage and each of its members contributed. What the writer of the journal
// records; `parent` is the span in which the entry came about.
void trace_whole_entry(const ActorTrace& trace, const JournalEntry& entry, std::uint64_t parent = 0);

// A commit's content as one number: equal for equal commits, whether or not their details travelled with them (S-2).
[[nodiscard]] std::uint64_t content_number(const Commit& commit);
// Records what people are told as kNote, losses as kFault, starts over as kRestart. span: of what follows from it.
// run_event_detail.h reads it again.
void trace_event(const ActorTrace& trace, const Cause& cause, const RunEvent& event, std::uint64_t span = 0);

}  // namespace shoal
