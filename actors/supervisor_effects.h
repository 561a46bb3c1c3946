// Performs what the supervisor's core answers, on the supervisor's thread. Apart from what it hears, because the actor
// library's templates make each of the two slow to compile.
#pragma once

#include <string>

#include "actors/supervisor.h"
#include "runtime/base/bound.h"

namespace shoal {

using SupervisorSelf = SupervisorActor::stateful_pointer<SupervisorState>;

[[nodiscard]] inline Instant now(SupervisorSelf self) { return self->clock().now(); }

// Some 300 bytes each; JournalStore bounds their bytes.
inline const Bound kEntriesPerLetter{"journal.entries_per_letter", 2048};

// Performs each effect completely before the next. False: the journal refused an entry, and the rest did not happen.
bool perform(SupervisorSelf self, SupervisorEffects effects);

// Says where the run stands, for a trace.
[[nodiscard]] Cause trace_cause(SupervisorSelf self);

// Returns "sync_group/N" or "data_loader".
[[nodiscard]] std::string name_of(const SupervisedChild& child);

// Asks whether an actor is there; `answered` is called when it says so. Its end is heard of otherwise.
template <class Handle, class Answered>
void ask(SupervisorSelf self, const Handle& whom, Answered answered) {
  self->request(whom, caf::infinite, Ping{}).then(std::move(answered), [](const caf::error&) {});
}
// Asks a child, and notes when it answers.
void ask_child(SupervisorSelf self, const caf::actor_addr& child);

}  // namespace shoal
