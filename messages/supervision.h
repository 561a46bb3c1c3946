// Letters by which the supervisor starts, watches and ends what runs on other processes.
//
//   supervisor ──SpawnStage | EndStage──▶ node_agent ──StageReady (by the stage) | StageEnded──▶ supervisor
//   node_agent ──Heartbeat──▶ supervisor ──HeartbeatEcho──▶ node_agent
//   supervisor ──LeaveRun──▶ node_agent ──Leaving──▶ supervisor ──EndProcess──▶ node_agent
//   router ──ProcessLost | PeerUnreachable──▶ its supervisor
//   node_agent ──PeerRefused──▶ supervisor
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "messages/cluster.h"
#include "messages/ids.h"
#include "messages/values/device_use.h"

namespace shoal {

// Start a replica: initial weights from the seed, or the named checkpoint's state from storage.
struct SpawnStage {
  StageId stage;
  ReplicaId slot;
  Incarnation replica;
  Branch branch;
  std::uint64_t version = 0;         // steps applied of the state to start with
  std::uint64_t optimizer_step = 0;  // updates applied of that state
  bool from_checkpoint = false;
  Incarnation donor{};         // replica of the view whose state is copied instead, whatever its version; 0: nobody
  JournalPosition position{};  // position of that view: a process in no later one has left
  friend bool operator==(const SpawnStage&, const SpawnStage&) = default;
};

struct StageReady {
  StageId stage;
  Incarnation replica;
  ProcessIncarnation process;
  std::uint64_t version = 0;
  std::uint64_t state_digest = 0;
  friend bool operator==(const StageReady&, const StageReady&) = default;
};

struct ComputedMicrobatch {
  StepId step;
  MicrobatchId microbatch;
  friend bool operator==(const ComputedMicrobatch&, const ComputedMicrobatch&) = default;
};

// End a replica that is in no view; those of a view end by their RemoveReplica.
struct EndStage {
  StageId stage;
  Incarnation replica;
  std::string reason;
  friend bool operator==(const EndStage&, const EndStage&) = default;
};

// A replica ended without its process: a bug in it, or its state could not be had.
struct StageEnded {
  StageId stage;
  Incarnation replica;
  std::string reason;
  std::optional<ComputedMicrobatch> computing{};  // the work that it had begun when it ended
  friend bool operator==(const StageEnded&, const StageEnded&) = default;
};

// State of an actor, as `shoal ps` shows it.
struct ActorHealth {
  std::string name;  // stage/1/0, router/node2
  std::uint64_t incarnation = 0;
  std::string state;
  std::uint32_t mailbox = 0;  // messages waiting
  std::uint32_t restarts = 0;
  std::string last_message;
  std::uint64_t last_message_ms = 0;  // ago
  friend bool operator==(const ActorHealth&, const ActorHealth&) = default;
};

struct Heartbeat {
  ProcessIncarnation process;
  std::uint64_t sequence = 0;
  std::int64_t sent_ns = 0;  // steady clock of the sender
  std::vector<ActorHealth> actors{};
  DeviceUse use{};  // of the last seconds
  friend bool operator==(const Heartbeat&, const Heartbeat&) = default;
};

// The four times of a round trip estimate the offset of two steady clocks (NTP, RFC 5905 §8).
struct HeartbeatEcho {
  ProcessIncarnation process;
  std::uint64_t sequence = 0;
  std::int64_t sent_ns = 0;      // as in the Heartbeat
  std::int64_t received_ns = 0;  // steady clock of the spawner
  std::int64_t replied_ns = 0;   // steady clock of the spawner
  friend bool operator==(const HeartbeatEcho&, const HeartbeatEcho&) = default;
};

struct EndProcess {
  std::string reason;
  std::uint32_t exit_status = 0;
  bool storage_waits = false;  // for the ends of its log and its trace
  friend bool operator==(const EndProcess&, const EndProcess&) = default;
};

// Leave between two steps: the process says Leaving until it is told to end, also to the next spawner.
struct LeaveRun {
  std::string reason;
  friend bool operator==(const LeaveRun&, const LeaveRun&) = default;
};

struct Leaving {
  ProcessIncarnation process;
  std::string reason;
  friend bool operator==(const Leaving&, const Leaving&) = default;
};

// Sent by a router to its supervisor: the link to this process is gone (socket loss or CAF's heartbeats).
struct ProcessLost {
  ProcessIncarnation process;
  std::string reason;
  friend bool operator==(const ProcessLost&, const ProcessLost&) = default;
};

// A process that is linked with the spawner cannot reach another one that the spawner still lists.
struct PeerUnreachable {
  ProcessIncarnation process;  // the sender
  ProcessIncarnation peer;
  std::uint64_t silent_ms = 0;  // since it has no link; 0: the link stands, and lets nothing through
  friend bool operator==(const PeerUnreachable&, const PeerUnreachable&) = default;
};

// A process does not let a peer in any more, because it has crashed by what that peer sent (P-10a). No words of it:
// what a person reads is the supervisor's own.
struct PeerRefused {
  ProcessIncarnation process;  // the sender
  ProcessRole role = ProcessRole::kNode;
  std::string name;  // with the role, what the peer's certificates say
  friend bool operator==(const PeerRefused&, const PeerRefused&) = default;
};

}  // namespace shoal
