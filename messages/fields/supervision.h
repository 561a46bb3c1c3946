// The fields of address.h, supervision.h and operate.h. Private to codec.cpp.
//
// One list per message serves both directions (io.h).
#pragma once

#include "messages/fields/io.h"

namespace shoal::codec {

SHOAL_FIELDS(Address) {
  FIELD(process, Process);
  FIELD(role, Role);
  FIELD(stage, Stage);
  FIELD(incarnation, Incarnation);
}

SHOAL_FIELDS(Inject) {
  FIELD(id, Id);
  PART(target, Target);
  FIELD(whole_process, WholeProcess);
  FIELD(how, How);
  FIELD(freeze_ms, FreezeMs);
}

SHOAL_FIELDS(SpawnStage) {
  FIELD(stage, Stage);
  FIELD(slot, Slot);
  FIELD(replica, Replica);
  FIELD(branch, Branch);
  FIELD(version, Version);
  FIELD(optimizer_step, OptimizerStep);
  FIELD(from_checkpoint, FromCheckpoint);
  FIELD(donor, Donor);
  FIELD(position, Position);
}

SHOAL_FIELDS(StageReady) {
  FIELD(stage, Stage);
  FIELD(replica, Replica);
  FIELD(process, Process);
  FIELD(version, Version);
  FIELD(state_digest, StateDigest);
}

SHOAL_FIELDS(StageEnded) {
  FIELD(stage, Stage);
  FIELD(replica, Replica);
  FIELD(reason, Reason);
  if constexpr (Io::kWrites) {
    wire.setWasComputing(m.computing.has_value());
    if (m.computing) wire.setStep(m.computing->step.value);
    if (m.computing) wire.setMicrobatch(m.computing->microbatch.value);
  } else if (wire.getWasComputing()) {
    from_wire(wire.getStep(), m.computing.emplace().step);
    from_wire(wire.getMicrobatch(), m.computing->microbatch);
  }
}

SHOAL_FIELDS(EndStage) {
  FIELD(stage, Stage);
  FIELD(replica, Replica);
  FIELD(reason, Reason);
}

SHOAL_FIELDS(ActorHealth) {
  FIELD(name, Name);
  FIELD(incarnation, Incarnation);
  FIELD(state, State);
  FIELD(mailbox, Mailbox);
  FIELD(restarts, Restarts);
  FIELD(last_message, LastMessage);
  FIELD(last_message_ms, LastMessageMs);
}

SHOAL_FIELDS(Heartbeat) {
  FIELD(process, Process);
  FIELD(sequence, Sequence);
  FIELD(sent_ns, SentNs);
  LIST(actors, Actors);
  PART(use, Use);
}

SHOAL_FIELDS(HeartbeatEcho) {
  FIELD(process, Process);
  FIELD(sequence, Sequence);
  FIELD(sent_ns, SentNs);
  FIELD(received_ns, ReceivedNs);
  FIELD(replied_ns, RepliedNs);
}

SHOAL_FIELDS(PeerUnreachable) {
  FIELD(process, Process);
  FIELD(peer, Peer);
  FIELD(silent_ms, SilentMs);
}

SHOAL_FIELDS(PeerRefused) {
  FIELD(process, Process);
  FIELD(role, Role);
  FIELD(name, Name);
}

SHOAL_FIELDS(EndProcess) {
  FIELD(reason, Reason);
  FIELD(exit_status, ExitStatus);
  FIELD(storage_waits, StorageWaits);
}

SHOAL_FIELDS(LeaveRun) { FIELD(reason, Reason); }

SHOAL_FIELDS(Leaving) {
  FIELD(process, Process);
  FIELD(reason, Reason);
}

SHOAL_FIELDS(ProcessLost) {
  FIELD(process, Process);
  FIELD(reason, Reason);
}

}  // namespace shoal::codec
