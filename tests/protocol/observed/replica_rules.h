// The rules of a replica: what a letter, an entry of the journal or a job may do to its state (PROTOCOL.md §1 to §5).
//
// hear() gives every state that reading a letter can lead to, with what the replica's own trace then shows at once.
// The others change a state as a visible event demands, or say which rule forbids it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "tests/protocol/observed/replica_state.h"

namespace shoal::observed {

// How the reading of a letter shows in the trace of its reader.
enum class Shows : std::uint8_t {
  kNothing,
  kDrop,          // it is turned away
  kZeroing,       // the job that empties the accumulators
  kContribution,  // the job that takes them for a sum
};

struct Heard {
  ReplicaState state;
  Shows shows = Shows::kNothing;
};

[[nodiscard]] std::vector<Heard> hear(const Setting& setting, const ReplicaState& state, const Letter& letter);
// The same of an order that waited for its step (P-25a). Only where is_early_order_due().
[[nodiscard]] std::vector<Heard> hear_early_order(const Setting& setting, const ReplicaState& state);
[[nodiscard]] bool is_early_order_due(const ReplicaState& state);
// P-5, P-10: Forwards that waited for their step, or for the journal to name their sender, are judged again.
void readmit_waiting(const Setting& setting, ReplicaState& state);

// P-3, P-20a, P-23, P-24, P-25, P-28.
[[nodiscard]] std::optional<Objection> follow(const Setting& setting, ReplicaState& state, const TracedEntry& entry);

// P-7, P-8, P-16a, P-18. word: as the trace names the job.
[[nodiscard]] std::optional<Objection> begin_job(ReplicaState& state, std::string_view word, std::uint32_t microbatch);
[[nodiscard]] std::optional<Objection> end_job(const Setting& setting, ReplicaState& state, std::string_view word,
                                               std::uint32_t microbatch);
// P-7, P-8: the gradients of a microbatch enter the accumulators.
[[nodiscard]] std::optional<Objection> accumulate(ReplicaState& state, StepId step, std::uint32_t microbatch);
// P-32: the rounds that are due after its step are read, and their means applied; then the next step begins.
[[nodiscard]] bool may_leave_boundary(const Setting& setting, const ReplicaState& state);
void leave_boundary(const Setting& setting, ReplicaState& state);
// P-15, P-18: the sum of the order in force, by its epoch.
[[nodiscard]] std::optional<Objection> hold_sum(ReplicaState& state, const Epoch& epoch);

}  // namespace shoal::observed
