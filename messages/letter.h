// The one thing routers exchange: an addressed message.
//
// An actor gives its router a Letter; the router delivers the body to a local actor, or encodes it (codec.h) and sends
// it to the router of the other process, which delivers it there. Bodies name their senders themselves, so that actors
// receive plain structs.
#pragma once

#include <variant>

#include "messages/cluster.h"
#include "messages/journal.h"
#include "messages/metrics.h"
#include "messages/pipeline.h"
#include "messages/storage.h"
#include "messages/sync.h"

namespace shoal {

enum class Role : std::uint8_t {
  kRouter,
  kSupervisor,
  kDataLoader,
  kSyncGroup,  // Address::incarnation unused: Address::stage says which
  kMetrics,
  kNodeAgent,
  kStage,  // Address::incarnation says which
  kStorage,
};

// Where a letter goes. Stages are found by incarnation, sync groups by stage; all others are one per process.
struct Address {
  ProcessIncarnation process;
  Role role = Role::kRouter;
  StageId stage;
  Incarnation incarnation;
  friend bool operator==(const Address&, const Address&) = default;
};

inline constexpr ProcessIncarnation kSpawnerProcess{0};

using MessageBody =
    std::variant<Forward, Backward, Refusal, Ask, AskAnswer,                                               //
                 Open, Zero, Prepare, Reduce, Manifest, Reduced, Part, Prepared, Missing, Progress,        //
                 AllAnswered, AskHolders, Holders,                                                         //
                 JournalEntries, FetchJournal,                                                             //
                 Hello, Join, Welcome, JoinRefused, Peers, SpawnStage, StageReady, StageEnded, Heartbeat,  //
                 EndProcess, Leaving, ProcessLost,                                                         //
                 SaveShard, CheckpointSaved, CheckpointFailed, FetchState, StateImage, StateUnavailable,   //
                 ReplicaReport, EvaluationResult, RunEvent>;

struct Letter {
  ProcessIncarnation from;
  Address to;
  MessageBody body;
  friend bool operator==(const Letter&, const Letter&) = default;
};

[[nodiscard]] inline Address to_supervisor() { return {kSpawnerProcess, Role::kSupervisor, {}, {}}; }
[[nodiscard]] inline Address to_data_loader() { return {kSpawnerProcess, Role::kDataLoader, {}, {}}; }
[[nodiscard]] inline Address to_metrics() { return {kSpawnerProcess, Role::kMetrics, {}, {}}; }
[[nodiscard]] inline Address to_sync_group(StageId stage) { return {kSpawnerProcess, Role::kSyncGroup, stage, {}}; }
[[nodiscard]] inline Address to_node_agent(ProcessIncarnation process) { return {process, Role::kNodeAgent, {}, {}}; }
[[nodiscard]] inline Address to_stage(ProcessIncarnation process, Incarnation replica) {
  return {process, Role::kStage, {}, replica};
}

}  // namespace shoal
