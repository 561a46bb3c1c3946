// Names what the supervisor's core is given and what it asks for: its configuration and its effects, as values.
//
// Effects are performed in order, each completely before the next; an entry is durable before what follows it (P-2).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "messages/letter.h"
#include "messages/local/save_request.h"
#include "messages/values/one_of.h"
#include "runtime/base/clock.h"
#include "runtime/base/error.h"
#include "runtime/cluster/balance/machine_places.h"
#include "runtime/cluster/balance/rebalance.h"
#include "runtime/cluster/last_step.h"
#include "runtime/cluster/process_directory.h"
#include "runtime/cluster/replicas_wanted.h"
#include "runtime/cluster/start_search.h"
#include "runtime/cluster/watch/complaints.h"
#include "runtime/cluster/watch/failure_detector.h"
#include "runtime/journal/commit.h"
#include "runtime/journal/round_plan.h"
#include "runtime/journal/snapshot_schedule.h"

namespace shoal {

// The state a run starts with: nothing, or a checkpoint.
struct StartPoint {
  std::uint64_t version = 0;         // steps applied
  std::uint64_t optimizer_step = 0;  // updates applied
  bool from_checkpoint = false;
  std::string weights_sha256;  // the checkpoint's
  Branch branch = {};          // at least: lines tell of no step from here on with it (branch_going_on())
  bool is_wanted = false;      // a person's branch begins with it (`--branch`): to go back to it is no roll-back
};

// True when both are the same state; the branch, and later lines of metrics.jsonl, do not matter.
[[nodiscard]] inline bool is_same_state(const StartPoint& one, const StartPoint& other) {
  return one.version == other.version && one.from_checkpoint == other.from_checkpoint &&
         one.weights_sha256 == other.weights_sha256;
}

// One that replicas could not start from, and why, the last time.
struct StartInVain {
  StartPoint start;
  std::string why;
  int times = 1;
};

struct SupervisorConfig {
  RunId run;
  Term term;
  StartPoint start;
  std::uint32_t stages = 1;
  ReplicasWanted replicas;         // waited for at the start
  std::uint32_t replicas_max = 0;  // per stage, while it trains; not above what it wants: that many
  // Replicas move between stages while it trains; none: they stay where they were placed.
  std::optional<Duration> rebalance_every{};
  RebalanceRule rebalance{};
  std::vector<double> stage_loads{};   // work of one microbatch in each stage, in proportion; empty: equal
  std::uint32_t microbatches = 1;      // planned per step
  std::uint64_t steps_target = 0;      // steps committed at which the run is finished
  std::uint64_t checkpoint_every = 0;  // steps; 0: only at the end
  bool newest_is_replaced = false;     // by the next checkpoint: checkpoint.keep is 1
  FingerprintRule fingerprints = FingerprintRule::kMayDiffer;
  Precision precision = Precision::kFp32;  // kernels are compared by its products
  CommitPolicy policy;
  // Rounds that are due are agreed before the next commit, at the end of a run also those in flight. Nothing: there are
  // no rounds.
  std::optional<RoundSchedule> rounds;
  std::uint64_t rounds_from = 0;  // steps committed where a branch changed the schedule; all rounds were agreed
  std::uint32_t quorum = 0;       // sync.quorum: replicas of each stage that contributions wait for; 0: none
  std::uint64_t snapshot_every = SnapshotSchedule::kEveryDefault;  // entries of the journal; 0: all of them are kept
  std::uint64_t requeue_window = 0;  // sync.requeue_lost: RoundSchedule::window_max(); 0: lost samples stay lost
  std::string config_toml;           // resolved; sent to every process that joins
  std::string resume_hint;           // "resume with: shoal train --resume DIR"
  std::string config_file = "RUN/config.toml";          // where config_toml stands, as a person gives it to a command
  std::optional<Duration> wait_timeout;                 // for workers that lack, before this term trains; then exit 4
  DetectorLimits detector;                              // processes that are silent
  ComplaintLimits complaints;                           // processes that do not reach each other
  Duration settle_for = std::chrono::seconds(5);        // for a commit or checkpoint under way when a stage is lost
  Duration save_within = std::chrono::minutes(2);       // a last checkpoint waits for a saver or storage
  Duration evaluate_within = std::chrono::minutes(30);  // the last evaluation, since more of it came
  Duration leave_within = std::chrono::seconds(5);      // processes told to end
  Duration storage_stays = std::chrono::seconds(3);     // storage takes what the others still write
  std::vector<std::uint64_t> state_bytes;               // by stage, for a person; empty: not known
  std::vector<StageNeed> needs;                         // by stage; empty: not known
  std::uint32_t threads = 1;                            // run.threads
  std::size_t restart_budget = 3;                       // replicas started again on one worker within the window
  Duration restart_window = std::chrono::minutes(1);
  // After a restart, for the processes of a run under way to come back; 0: none are there, `start` has been verified.
  Duration return_within = Duration::zero();
  std::optional<StopOrder> stopping;                  // what an earlier life of this spawner was ending the run by
  Duration return_grace = std::chrono::seconds(3);    // of that, where members serve all stages again, or spares could
  Duration gather_within = std::chrono::seconds(10);  // after a roll-back, for all replicas; then one per stage will do
  // Workers may serve several stages where they are fewer than stages x replicas.
  bool share_devices = false;
  Duration share_after = std::chrono::seconds(3);  // at a start: without a change of the workers
  // The list that the spawner before this one left of who has which number; none: it left none.
  std::optional<std::vector<Peer>> on_record{};
};

// Record this as the next entry, durably, then appended(); or journal_failed().
struct AppendEntry {
  JournalBody body;
};
// Keep this in place of the entries up to its position, durably. If that cannot be, they stay.
struct KeepSnapshot {
  JournalSnapshot snapshot;
};
// Record durably that the run has trained with these kernels, before the entries that follow: a start of the spawner
// admits no others.
struct KeepKernels {
  std::string kernels;
};
// Send the router of a process what comes next in the journal after a position, in one letter: it asks for the rest.
struct SendJournal {
  ProcessIncarnation process;
  JournalPosition after;
  bool is_whole = false;  // the rest goes with it: the spawner's router is never behind, so its actors skip nothing
};
// Reserve a block of at least so many numbers durably, then reserved().
struct ReserveNumbers {
  bool are_processes = false;
  std::uint64_t count_min = 0;
};
// Start (or start again) an actor of this process under an incarnation.
struct StartGroup {
  StageId stage;
  Incarnation group;
};
struct StartDataLoader {
  Incarnation loader;
};
// The link to this process broke: does anybody still listen there? If certainly not, gone().
struct ProbeProcess {
  ProcessIncarnation process;
  Endpoint endpoint;
};
// The process ends with this status.
struct EndRun {
  int exit_status = 0;  // 1: to be started again, kGivenUpStatus: in vain (restart_policy.h)
  std::string reason;
  bool is_handed_over = false;         // nobody else ends: the run goes on under the next term
  std::uint32_t status_of_others = 0;  // their processes end with it
};
// One sentence for the log.
struct Note {
  std::string text;
};
// One sentence for the person at the terminal, and for the log.
struct TellPerson {
  std::string text;
};

// To an actor of this process, once whoever ordered it has had the answer.
struct InjectHere {
  Inject order;
};

using SupervisorEffect =
    OneOf<Letter, AppendEntry, KeepSnapshot, KeepKernels, SendJournal, ReserveNumbers, StartGroup, StartDataLoader,
          FindCheckpoint, ProbeProcess, EndRun, Note, TellPerson, InjectHere, AvoidReplicas>;
using SupervisorEffects = std::vector<SupervisorEffect>;

// Answer to FindCheckpoint, under its number: also much later.
struct LookEnd {
  std::uint64_t look = 0;
  Result<StartPoint> start;
};

struct SaveOutcome {
  SaveAnswer answer;
  SupervisorEffects effects;
};
struct OperatorOutcome {
  OperatorAnswer answer;
  SupervisorEffects effects;
  std::uint64_t injection = 0;  // its number; 0: none was made
};

}  // namespace shoal
