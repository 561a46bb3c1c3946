// How processes meet, are placed and leave.
//
//   router ──Hello──▶ router (first on every link, both ways)
//   node_agent ──Join──▶ supervisor ──Welcome | JoinRefused──▶ node_agent
//   supervisor ──Peers──▶ every router            supervisor ──SpawnStage──▶ node_agent ──StageReady──▶ supervisor
//   supervisor ──EndProcess──▶ node_agent          node_agent ──Leaving──▶ supervisor
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "messages/ids.h"

namespace shoal {

enum class ProcessRole : std::uint8_t { kSpawner, kNode, kStorage };

struct Endpoint {
  std::string host;
  std::uint16_t port = 0;
  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

// The first words on a link. A link is good when the answering Hello has come.
struct Hello {
  std::uint32_t protocol_version = 0;
  RunId run;
  Term term;                   // highest known to the sender; 0: none yet
  ProcessIncarnation process;  // 0 from a node that has not been welcomed yet, and from the spawner
  ProcessRole role = ProcessRole::kNode;
  std::string name;
  bool is_answer = false;
  friend bool operator==(const Hello&, const Hello&) = default;
};

// What decides the bits of a device's arithmetic (design.md §4.11); equal text = equal bits for equal work.
struct KernelFingerprint {
  std::string text;
  friend bool operator==(const KernelFingerprint&, const KernelFingerprint&) = default;
};

struct Join {
  std::string name;    // of the node; unique in the run
  std::string device;  // "cpu", "paced:50"
  std::uint32_t device_index = 0;
  std::uint64_t nonce = 0;      // of this process, so that a repeated Join gets the same Welcome
  ProcessIncarnation previous;  // what it was before a lost link; 0: new
  ProcessRole role = ProcessRole::kNode;
  Endpoint endpoint;  // where its own router listens
  std::uint64_t pid = 0;
  KernelFingerprint fingerprint;
  friend bool operator==(const Join&, const Join&) = default;
};

struct Welcome {
  std::uint64_t nonce = 0;
  ProcessIncarnation process;
  RunId run;
  Branch branch;
  Term term;
  JournalPosition position;  // entries after this one follow by themselves
  std::string config_toml;   // the resolved configuration of the run
  friend bool operator==(const Welcome&, const Welcome&) = default;
};

enum class JoinRefusal : std::uint8_t { kNameTaken, kMixedKernels, kWrongRun, kVersion, kRunIsOver };

struct JoinRefused {
  std::uint64_t nonce = 0;
  JoinRefusal reason = JoinRefusal::kNameTaken;
  std::string explanation;
  friend bool operator==(const JoinRefused&, const JoinRefused&) = default;
};

struct Peer {
  ProcessIncarnation process;
  ProcessRole role = ProcessRole::kNode;
  std::string name;
  Endpoint endpoint;
  friend bool operator==(const Peer&, const Peer&) = default;
};

// Everybody who is in, storage included. The smaller process incarnation dials, but nobody waits for storage: nodes
// dial it.
struct Peers {
  RunId run;
  Term term;
  std::uint64_t serial = 0;  // within the term, ascending
  std::vector<Peer> peers;
  friend bool operator==(const Peers&, const Peers&) = default;
};

// Start a replica: initial weights from the seed, or the named checkpoint's state from storage.
struct SpawnStage {
  StageId stage;
  ReplicaId slot;
  Incarnation replica;
  Branch branch;
  std::uint64_t version = 0;         // steps applied of the state to start with
  std::uint64_t optimizer_step = 0;  // updates applied of that state
  bool from_checkpoint = false;
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

// A replica ended without its process: a bug in it, or its state could not be had.
struct StageEnded {
  StageId stage;
  Incarnation replica;
  std::string reason;
  friend bool operator==(const StageEnded&, const StageEnded&) = default;
};

struct Heartbeat {
  ProcessIncarnation process;
  std::uint64_t sequence = 0;
  friend bool operator==(const Heartbeat&, const Heartbeat&) = default;
};

struct EndProcess {
  std::string reason;
  std::uint32_t exit_status = 0;
  friend bool operator==(const EndProcess&, const EndProcess&) = default;
};

struct Leaving {
  ProcessIncarnation process;
  std::string reason;
  friend bool operator==(const Leaving&, const Leaving&) = default;
};

// From a router to its supervisor: the link to this process is gone (socket loss or CAF's heartbeats).
struct ProcessLost {
  ProcessIncarnation process;
  std::string reason;
  friend bool operator==(const ProcessLost&, const ProcessLost&) = default;
};

}  // namespace shoal
