// Letters by which processes meet.
//
//   router ──Hello──▶ router (first on every link, both ways)
//   node_agent ──Join──▶ supervisor ──Welcome | JoinRefused──▶ node_agent
//   supervisor ──Peers, Revocations──▶ every router
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
  std::uint64_t lane_key = 0;  // with which the side that dialled may open this link's lane; 0: none
  friend bool operator==(const Hello&, const Hello&) = default;
};

// Describes what decides the bits of a device's arithmetic (DESIGN.md §4.11); equal text = equal bits for equal work.
struct KernelFingerprint {
  std::string text;
  friend bool operator==(const KernelFingerprint&, const KernelFingerprint&) = default;
};

// A replica that a process brings along when it joins a spawner that was started again.
struct ServedReplica {
  StageId stage;
  ReplicaId slot;
  Incarnation replica;
  Branch branch;
  std::uint64_t version = 0;  // steps applied
  friend bool operator==(const ServedReplica&, const ServedReplica&) = default;
};

// States what a process gives to the run, by its own words (P-25c). 0: not stated; of a rate: not limited.
struct MachineOffer {
  std::uint64_t multiply_adds_s = 0;  // of one compute thread, as it measured
  std::uint64_t forward_us = 0;       // of a paced device, in place of a speed: a microbatch's forward on any stage
  std::uint32_t threads = 0;          // compute threads per stage; 0: the run's
  std::uint64_t memory_bytes = 0;
  std::uint64_t up_bit_s = 0;
  std::uint64_t down_bit_s = 0;
  bool is_gpu = false;           // the memory is a GPU's
  std::uint64_t host_bytes = 0;  // the machine's memory, for all workers on it together
  std::uint64_t machine = 0;     // equal where the same memory is meant (base/machine/machine_identity.h)
  friend bool operator==(const MachineOffer&, const MachineOffer&) = default;
};

struct Join {
  std::string name;    // the node's name; unique in the run
  std::string device;  // "cpu", "paced:50"
  std::uint32_t device_index = 0;
  std::uint64_t nonce = 0;      // chosen by this process, so that a repeated Join gets the same Welcome
  ProcessIncarnation previous;  // its incarnation before a lost link; 0: new
  ProcessRole role = ProcessRole::kNode;
  Endpoint endpoint;  // the address at which its own router listens
  std::uint64_t pid = 0;
  KernelFingerprint fingerprint;
  std::vector<ServedReplica> serves{};  // replicas of the run that it was in; empty: none
  MachineOffer offer{};
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

// A process of another run or version does not come so far: Hello and the control endpoint refuse it.
enum class JoinRefusal : std::uint8_t { kNameTaken, kMixedKernels, kRunIsOver };

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

// Lists every process of the run, storage included. The smaller process incarnation dials, but none waits for storage:
// nodes dial it.
struct Peers {
  RunId run;
  Term term;
  std::uint64_t serial = 0;  // within the term, ascending
  std::vector<Peer> peers;
  friend bool operator==(const Peers&, const Peers&) = default;
};

// A name whose certificates are refused everywhere (`shoal evict --revoke`), but those that were given out since.
struct RevokedName {
  std::string name;
  std::vector<std::string> readmitted;  // serial numbers, in hex
  friend bool operator==(const RevokedName&, const RevokedName&) = default;
};

// The whole list, at each change and again and again: a process that was away has it as soon as it is back.
struct Revocations {
  std::uint64_t version = 0;  // ascending over the whole run; an older list is none
  std::vector<RevokedName> names;
  friend bool operator==(const Revocations&, const Revocations&) = default;
};

}  // namespace shoal
