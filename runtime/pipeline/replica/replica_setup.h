// What a replica's core is given and what it asks for: its setup, its effects and its counters, as values.
//
// Effects are performed in order; a RunJob is the last of its list.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "messages/letter.h"
#include "messages/values/one_of.h"
#include "runtime/base/clock.h"
#include "runtime/base/config.h"
#include "runtime/pipeline/replica_job.h"
#include "runtime/pipeline/schedule.h"
#include "runtime/sync/collective/collective.h"
#include "runtime/sync/reduction.h"

namespace shoal {

struct ReplicaSetup {
  RunId run;
  Branch branch;
  Term term;
  StageId stage;
  std::uint32_t stage_count = 1;
  Incarnation self;
  ProcessIncarnation process;
  std::uint64_t version = 0;         // steps applied of the state it starts with
  std::uint64_t optimizer_step = 0;  // updates applied of that state
  std::uint64_t tokens_total = 0;    // trained on so far, for checkpoints
  std::uint32_t microbatch_count = 1;
  Schedule schedule = Schedule::k1f1b;
  std::size_t accumulations_max = 0;      // that may wait while there is other work
  bool from_checkpoint = false;           // fetch the state of `version` from storage first
  Incarnation donor{};                    // or copy that of this replica; 0: nobody
  JournalPosition donor_seen_at{};        // it was in the view there
  std::optional<TensorBlob> image;        // a state to load at the start
  std::vector<std::string> tensor_names;  // of the stage's weights, for that fetch
  std::optional<SyncConfig> rounds;       // sync.mode = diloco: own sums between rounds; inner_state: inner_state_of()
  double clip_norm = 0;                   // of an own sum; 0: off
  std::size_t bucket_bytes = kBucketBytes;
  std::optional<CollectiveOffer> collective = {};  // that its process has for it, without a communicator
  std::string collective_lack = {};                // why there is none, where the run wishes for one
};

enum class Phase : std::uint8_t { kOpen, kFrozen, kReduced };

struct SendLetter {
  Letter letter;  // the router fills to.process for stages and storage
};
struct RunJob {
  Job job;
};
struct End {
  std::string reason;
};
struct Collect {  // to the thread of the stage's communicator; what comes of it is a CollectiveEvent
  CollectiveOrder order;
};
using Effect = OneOf<SendLetter, RunJob, End, Collect>;
using Effects = std::vector<Effect>;

struct ReplicaCounters {
  std::uint64_t dropped_answers = 0;  // that the ledger or the fence turned away; Forwards of what is quarantined
  std::uint64_t stale_orders = 0;     // of a lower epoch, step, branch or term
};

inline constexpr Duration kStateRetry = std::chrono::seconds(5);  // until StateImage or StateUnavailable comes
inline constexpr Duration kReadyRetry = std::chrono::seconds(2);  // StageReady, until the Add was read that it is for

}  // namespace shoal
