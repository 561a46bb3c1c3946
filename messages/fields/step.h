// The fields of the step protocol's messages: pipeline.h, sync.h, journal.h. Private to codec.cpp.
//
// One list per message serves both directions (io.h); a field added to a message is added here and in its schema,
// and tests/messages fails until it is.
#pragma once

#include "messages/fields/io.h"

namespace shoal::codec {

SHOAL_FIELDS(Cause) {
  FIELD(run, Run);
  FIELD(branch, Branch);
  FIELD(term, Term);
  FIELD(position, Position);
  FIELD(step, Step);
  FIELD(microbatch, Microbatch);
  FIELD(attempt, Attempt);
  FIELD(hop, Hop);
  FIELD(parent_span, ParentSpan);
}

SHOAL_FIELDS(Epoch) {
  FIELD(group, Group);
  FIELD(counter, Counter);
}

SHOAL_FIELDS(Forward) {
  PART(cause, Cause);
  FIELD(sender, Sender);
  FIELD(weights_version, WeightsVersion);
  FIELD(purpose, Purpose);
  SCALARS(path, Path);
  PART(input, Input);
  PART(targets, Targets);
}

SHOAL_FIELDS(Hop) {
  FIELD(replica, Replica);
  FIELD(queue_ms, QueueMs);
  FIELD(compute_ms, ComputeMs);
  FIELD(transfer_ms, TransferMs);
}

SHOAL_FIELDS(Backward) {
  PART(cause, Cause);
  FIELD(sender, Sender);
  FIELD(weights_version, WeightsVersion);
  FIELD(purpose, Purpose);
  LIST(trail, Trail);
  PART(input_gradient, InputGradient);
  FIELD(loss_sum, LossSum);
  FIELD(token_count, TokenCount);
}

SHOAL_FIELDS(Refusal) {
  PART(cause, Cause);
  FIELD(sender, Sender);
  FIELD(purpose, Purpose);
  FIELD(reason, Reason);
}

SHOAL_FIELDS(Ask) {
  PART(cause, Cause);
  FIELD(sender, Sender);
  FIELD(purpose, Purpose);
}

SHOAL_FIELDS(AskAnswer) {
  PART(cause, Cause);
  FIELD(sender, Sender);
  FIELD(purpose, Purpose);
  FIELD(state, State);
}

SHOAL_FIELDS(OrderId) {
  FIELD(run, Run);
  FIELD(branch, Branch);
  FIELD(term, Term);
  FIELD(stage, Stage);
  FIELD(step, Step);
  PART(epoch, Epoch);
  FIELD(round.number, Round);
  FIELD(round.fragment, Fragment);
}

SHOAL_FIELDS(Open) { PART(order, Order); }
SHOAL_FIELDS(Zero) { PART(order, Order); }

SHOAL_FIELDS(Prepare) {
  PART(order, Order);
  PART(last_zero, LastZero);
}

SHOAL_FIELDS(Reduce) {
  PART(order, Order);
  SCALARS(members, Members);
  FIELD(token_count, TokenCount);
  if constexpr (Io::kWrites) {
    if (m.communicator) fields(io, wire.initCommunicator(), *m.communicator);
  } else if (wire.hasCommunicator()) {
    fields(io, wire.getCommunicator(), m.communicator.emplace());
  }
}

SHOAL_FIELDS(CollectiveOffer) {
  FIELD(library, Library);
  FIELD(device, Device);
  PART(communicator, Communicator);
  FIELD(size, Size);
}

SHOAL_FIELDS(ManifestEntry) {
  FIELD(microbatch, Microbatch);
  FIELD(token_count, TokenCount);
  FIELD(loss_sum, LossSum);
  if constexpr (Io::kWrites) {
    wire.setIsBad(m.bad_tensor.has_value());
    if (m.bad_tensor) wire.setBadTensor(*m.bad_tensor);
  } else if (wire.getIsBad()) {
    from_wire(wire.getBadTensor(), m.bad_tensor.emplace());
  }
}

SHOAL_FIELDS(Manifest) {
  PART(order, Order);
  FIELD(member, Member);
  LIST(entries, Entries);
  FIELD(share_tokens, ShareTokens);
  SCALARS(in_flight, InFlight);
  if constexpr (Io::kWrites) {
    if (m.collective) fields(io, wire.initCollective(), *m.collective);
  } else if (wire.hasCollective()) {
    fields(io, wire.getCollective(), m.collective.emplace());
  }
}

SHOAL_FIELDS(TensorNorm) {
  FIELD(name, Name);
  FIELD(squared_norm, SquaredNorm);
}

SHOAL_FIELDS(Reduced) {
  PART(order, Order);
  FIELD(member, Member);
  FIELD(digest, Digest);
  LIST(norms, Norms);
}

SHOAL_FIELDS(Part) {
  PART(order, Order);
  FIELD(member, Member);
  FIELD(bucket, Bucket);
  FIELD(hop, Hop);
  PART(values, Values);
}

SHOAL_FIELDS(PartId) {
  FIELD(bucket, Bucket);
  FIELD(hop, Hop);
}

SHOAL_FIELDS(PartsSent) {
  PART(order, Order);
  FIELD(member, Member);
  FIELD(mark, Mark);
  PART(values, Values);
}

SHOAL_FIELDS(MissingParts) {
  PART(order, Order);
  FIELD(member, Member);
  FIELD(holder, Holder);
  FIELD(mark, Mark);
  LIST(parts, Parts);
}

SHOAL_FIELDS(MemberManifest) {
  FIELD(member, Member);
  LIST(entries, Entries);
}

SHOAL_FIELDS(RoundShare) {
  FIELD(member, Member);
  FIELD(token_count, TokenCount);
}

SHOAL_FIELDS(Prepared) {
  PART(order, Order);
  FIELD(position, Position);
  FIELD(digest, Digest);
  LIST(manifests, Manifests);
  LIST(norms, Norms);
  LIST(shares, Shares);
}

SHOAL_FIELDS(Missing) {
  PART(order, Order);
  FIELD(upstream, Upstream);
  SCALARS(microbatches, Microbatches);
}

SHOAL_FIELDS(Progress) {
  PART(order, Order);
  FIELD(member, Member);
  FIELD(count, Count);
  FIELD(parts, Parts);
  FIELD(failure, Failure);
}

SHOAL_FIELDS(AllAnswered) {
  FIELD(branch, Branch);
  FIELD(step, Step);
}

SHOAL_FIELDS(AskHolders) {
  FIELD(stage, Stage);
  FIELD(branch, Branch);
  FIELD(step, Step);
}

SHOAL_FIELDS(Holder) {
  FIELD(microbatch, Microbatch);
  FIELD(replica, Replica);
}

SHOAL_FIELDS(Holders) {
  FIELD(stage, Stage);
  FIELD(branch, Branch);
  FIELD(step, Step);
  LIST(holders, Holders);
}

}  // namespace shoal::codec
