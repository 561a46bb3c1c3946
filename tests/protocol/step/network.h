// Changes of the set of messages without anybody's decision: those that nobody can act upon any more are dropped, and
// answers that change nothing but the set are given at once.
//
// Both keep a search small and hide no run: a dropped message could only be ignored, and an answer that is in the set
// may still be delivered as late as one likes.
#pragma once

#include "tests/protocol/step/step_model.h"

namespace shoal::protocol {

// Removes the messages that no receiver can act upon in this state or any later one.
void drop_dead_messages(const StepModel& model, State& state);

// Repeats of orders, votes and hints; replies from a cache; manifests, parts and digests that an order asks for. With
// an eager model also the entries of the journal that only let their reader do more.
void answer_at_once(const StepModel& model, State& state);

// How long ago a replica was emptied matters only while a Prepare can name a Zero that it may have missed (P-16b).
void forget_old_zeros(State& state);

}  // namespace shoal::protocol
