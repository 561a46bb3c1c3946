// The one thing routers exchange: an addressed message.
//
// An actor gives its router a Letter; the router delivers the body to a local actor, or encodes it (codec.h) and sends
// it to the router of the other process, which delivers it there. Bodies name their senders themselves, so that actors
// receive plain structs.
#pragma once

#include <variant>

#include "messages/address.h"
#include "messages/cluster.h"
#include "messages/journal.h"
#include "messages/metrics.h"
#include "messages/operate.h"
#include "messages/pipeline.h"
#include "messages/storage.h"
#include "messages/supervision.h"
#include "messages/sync.h"

namespace shoal {

using MessageBody =
    std::variant<Forward, Backward, Refusal, Ask, AskAnswer,                                                 //
                 Open, Zero, Prepare, Reduce, Manifest, Reduced, Part, Prepared, Missing, Progress,          //
                 AllAnswered, AskHolders, Holders,                                                           //
                 JournalEntries, FetchJournal,                                                               //
                 Hello, Join, Welcome, JoinRefused, Peers, SpawnStage, StageReady, StageEnded, Heartbeat,    //
                 EndProcess, Leaving, ProcessLost,                                                           //
                 SaveShard, CheckpointSaved, CheckpointFailed, FetchState, StateImage, StateUnavailable,     //
                 ReplicaReport, EvaluationResult, RunEvent,                                                  //
                 EndStage, HeartbeatEcho, PeerUnreachable, Inject, SaveState, StepSum, FileChunk, FileKept,  //
                 StateProgress, PartsSent, MissingParts, Revocations>;

struct Letter {
  ProcessIncarnation from;
  Address to;
  MessageBody body;
  std::uint64_t span = 0;  // joins the send with its receive in a trace; 0: not traced
  friend bool operator==(const Letter&, const Letter&) = default;
};

}  // namespace shoal
