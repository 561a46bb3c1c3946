// Reports to the metrics actor, which never answers and never blocks training.
//
//   stage ──ReplicaReport──▶ metrics    data loader ──EvaluationResult──▶ metrics    anybody ──RunEvent──▶ metrics
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "messages/ids.h"
#include "messages/values/run_events.h"
#include "messages/values/device_use.h"

namespace shoal {

// Disjoint intervals of one replica's step, milliseconds; they add up to its time between two applies.
struct TimeBreakdown {
  double forward = 0;
  double backward = 0;
  double wire = 0;  // idle while a tensor for it was on its way
  double wait = 0;  // idle otherwise
  double reduce = 0;
  double commit = 0;
  double apply = 0;
  friend bool operator==(const TimeBreakdown&, const TimeBreakdown&) = default;
};

// Bytes this replica's router sent since the last report.
struct ByteCounts {
  std::uint64_t activation = 0;
  std::uint64_t gradient = 0;
  std::uint64_t reduce = 0;
  std::uint64_t state = 0;  // copies for other replicas
  std::uint64_t control = 0;
  std::uint64_t checkpoint = 0;  // shards on their way to storage
  friend bool operator==(const ByteCounts&, const ByteCounts&) = default;
};

// Names the pass over a microbatch that a replica accumulated.
struct MicrobatchPass {
  MicrobatchId microbatch;
  Incarnation input_from;     // the replica of the stage before that gave the activation; first stage: nobody
  Incarnation gradient_from;  // the replica of the stage after that gave the gradient; last stage: nobody
  friend bool operator==(const MicrobatchPass&, const MicrobatchPass&) = default;
};

struct ReplicaReport {
  Branch branch;
  StepId step;
  StageId stage;
  Incarnation replica;
  TimeBreakdown time;
  ByteCounts bytes;
  std::uint32_t microbatches = 0;
  std::uint32_t retried = 0;
  std::uint64_t state_digest = 0;  // after the apply (S-3)
  // Passes that it accumulated in the step, ascending. Only with rounds (sync.mode = diloco): there, a replica that is
  // replaced in the middle of a step has a successor with other weights.
  std::vector<MicrobatchPass> passes;
  DeviceUse use{};  // by its process, since its last report
  friend bool operator==(const ReplicaReport&, const ReplicaReport&) = default;
};

struct EvaluationResult {
  Branch branch;
  std::uint64_t step = 0;  // steps applied
  double loss_sum = 0;
  std::uint64_t token_count = 0;
  std::uint64_t target_bytes = 0;
  bool complete = false;              // the last one of a run, of all of its windows
  std::uint64_t windows = 0;          // windows of the validation text that are evaluated by now
  std::uint64_t windows_planned = 0;  // while `windows` is lower, this tells progress, and is no result yet
  friend bool operator==(const EvaluationResult&, const EvaluationResult&) = default;
};

// A line of metrics.jsonl of its own: fault, restart, view change, checkpoint, ...
struct RunEvent {
  RunEventKind kind{};
  std::string subject;
  std::string reason;
  std::uint64_t step = 0;
  friend bool operator==(const RunEvent&, const RunEvent&) = default;
};

}  // namespace shoal
