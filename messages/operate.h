// Orders of a person to a run that is under way.
//
//   control ──OperatorOrder──▶ supervisor ──OperatorAnswer──▶ control           (in the spawner process)
//   supervisor ──Inject──▶ router of the target's process ──▶ the target; its node_agent when the process is meant
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "messages/address.h"

namespace shoal {

// Says how a failure shows: an ordinary end, an end that cannot be trapped (of a process: SIGKILL), an exception in the
// middle of a message, or silence for a while (of a process: SIGSTOP).
enum class InjectKind : std::uint8_t { kExit, kKill, kThrow, kFreeze };

// Fail on purpose. No process but the spawner may say it (DESIGN.md §8).
struct Inject {
  std::uint64_t id = 0;  // number of this injection in the trace
  Address target;        // its process, and the actor there
  bool whole_process = false;
  InjectKind how = InjectKind::kExit;
  std::uint64_t freeze_ms = 0;
  friend bool operator==(const Inject&, const Inject&) = default;
};

enum class OperatorVerb : std::uint8_t { kKill, kDrain, kEvict };

// Order of a person; the target has the name that `shoal ps` shows.
struct OperatorOrder {
  OperatorVerb verb = OperatorVerb::kKill;
  std::string name;
  InjectKind how = InjectKind::kExit;
  std::uint64_t freeze_ms = 0;
  std::string reason;
  bool revoke = false;  // for an eviction: the process's certificates are refused from then on
};

// Supervisor to data loader: plan nothing there while others serve the stage; they leave after the step.
struct AvoidReplicas {
  std::vector<Incarnation> replicas;
};

enum class OperatorVerdict : std::uint8_t {
  kDone,
  kUnknownName,
  kAbsent,  // the target was there, or belongs to the run, and may be starting again
  kRefused,
};

struct OperatorAnswer {
  OperatorVerdict verdict = OperatorVerdict::kRefused;
  std::string text;  // says what was done, or why not
};

}  // namespace shoal
