// Facts, which the parts of a replica tell its frame (replica.h): it gives them to every part that hears them.
//
//   Prepare ──agreement──▶ FreezeWanted ──data──▶ ManifestMade ──agreement──▶ EpochEntered (frozen)
//   Commit ──agreement──▶ StepCommitted ──ending──▶ (apply) ──▶ StepApplied ──data──▶ StepTrained ──ending,
//   with rounds after BoundaryPassed──▶ StepEnded ──▶ (image) ──▶ NextStep
//   StateImage ──joining──▶ StateExpected ──▶ (load) ──▶ StateLoaded ──▶ StageReady
//   own AddReplica ──joining──▶ ReplicaAdmitted
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "messages/journal.h"
#include "messages/metrics.h"
#include "messages/sync.h"
#include "messages/tensor_blob.h"
#include "messages/values/one_of.h"
#include "runtime/executor/stage_executor.h"
#include "runtime/pipeline/replica/replica_setup.h"

namespace shoal {

// The state that a replica holds.
struct HeldState {
  std::uint64_t version = 0;         // steps applied
  std::uint64_t optimizer_step = 0;  // updates applied
  std::uint64_t tokens_total = 0;    // trained on so far, for checkpoints
  std::uint64_t digest = 0;          // what all members of the stage hold alike (S-3)
};

// The agreement, on orders of the sync group.
struct EpochEntered {
  OrderId order;
  Phase phase = Phase::kOpen;
};
struct StepOpened {};
struct StepZeroed {
  OrderId order;
};
struct ProgressWanted {};
// A Prepare is to be obeyed as soon as everything that was answered is accumulated (P-16a).
struct FreezeWanted {
  Prepare order;
  bool has_missed_a_zero = false;  // the step is emptied first (P-16b)
};
struct SumAdopted {};
// The journal commits the step in progress, of which this replica holds the sum unless it is skipped.
struct StepCommitted {
  Commit commit;
  std::optional<UpdateOrder> update;  // none: nothing is applied
  TensorBlob sum;                     // of all members; none: the step is skipped, or there are rounds
};

// The data, on what was computed and accumulated.
struct PrepareAgain {
  Prepare order;
};
struct ManifestMade {
  FreezeWanted wanted;
  std::vector<ManifestEntry> entries;
  std::vector<MicrobatchId> in_flight{};
};
// Tells what the replica did of the step that was applied.
struct StepTrained {
  std::uint32_t microbatches = 0;
  std::uint32_t retried = 0;
  std::uint64_t own_tokens = 0;
  std::vector<MicrobatchPass> passes;  // with rounds only
  Commit commit;
};

// The ending of a step.
struct StepApplied {
  std::uint64_t state_digest = 0;
  Commit commit;
};
struct StepEnded {
  Commit commit;
};
struct NextStep {};

// The rounds.
struct BoundaryPassed {};  // no round is due before the next step
struct StateAtRest {};     // the end of a turn at which the weights are those of a version
struct StateChanged {
  std::uint64_t digest = 0;
};

// Joining and giving.
struct StateExpected {
  HeldState state;  // of the image that is loaded now
};
struct StateLoaded {
  std::uint64_t digest = 0;
};
struct StepFollowed {
  HeldState state;
};
struct ReplicaAdmitted {};  // the journal has added this replica
struct ReadyWanted {};      // the supervisor is to compare this state with others, at once
struct ReadyDue {};         // likewise, unless it was told a moment ago

// The frame, with each tick.
struct TimePassed {};

using Fact =
    OneOf<EpochEntered, StepOpened, StepZeroed, ProgressWanted, FreezeWanted, SumAdopted, StepCommitted, PrepareAgain,
          ManifestMade, StepTrained, StepApplied, StepEnded, NextStep, BoundaryPassed, StateAtRest, StateChanged,
          StateExpected, StateLoaded, StepFollowed, ReplicaAdmitted, ReadyWanted, ReadyDue>;

}  // namespace shoal
