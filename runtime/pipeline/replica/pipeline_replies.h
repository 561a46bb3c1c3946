// Replies of a replica along the pipeline, whatever its ledger holds: answers, refusals and activations for the next
// stage, each in its own name and from its place in the journal.
#pragma once

#include "messages/pipeline.h"
#include "runtime/pipeline/ledger.h"
#include "runtime/pipeline/replica/replica_turn.h"

namespace shoal {

// Steps applied of the weights that this work is for.
[[nodiscard]] std::uint64_t wanted_version(const Forward& message);
[[nodiscard]] MicrobatchWork work_of(const Forward& forward);

void refuse(const Waiter& asker, Purpose purpose, RefusalReason reason, ReplicaTurn& turn);
void answer(const Waiter& waiter, Backward reply, ReplicaTurn& turn);
// Sends the activation to the next replica of the Forward's path.
void send_onward(const Forward& forward, TensorBlob activation, ReplicaTurn& turn);

}  // namespace shoal
