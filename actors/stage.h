// The stage actor: one replica of one stage. It asks its core what to do and its executor to compute.
//
// Spawned detached (its own thread computes inside the handler of RunNextJob) or, in the simulation, scheduled with a
// fake executor. One RunNextJob is in its mailbox at a time, so whatever came during a computation is known before the
// next one is chosen. It speaks only with the router of its process, and ends itself with a reason when its core says
// so; the node agent, which monitors it, tells the supervisor.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string_view>

#include "messages/actor_types.h"
#include "runtime/base/config.h"
#include "runtime/pipeline/job_runner.h"
#include "runtime/pipeline/replica/replica.h"
#include "runtime/sync/collective/collective.h"
#include "runtime/trace/actor_board.h"
#include "runtime/trace/device_meter.h"
#include "runtime/trace/high_water.h"
#include "runtime/trace/tracer.h"
#include "runtime/trace/work_note.h"

namespace shoal {

struct StageSettings {
  SpawnStage order;
  Config config;
  RunId run;
  Term term;
  ProcessIncarnation process;
  RouterActor router;
  // Called once, on the thread that will hand in jobs.
  MakeJobRunner make_runner;
  std::optional<CollectiveOffer> collective = {};  // what this process has for sums on its device
  std::string collective_lack = {};                // why it has nothing, where the run wishes for it
  MakeCollectiveRunner make_collective = {};       // set with `collective`; called once
  std::optional<TensorBlob> image;                 // a state to load at the start
  std::shared_ptr<Tracer> tracer = nullptr;        // none: this process keeps no trace
  std::shared_ptr<ActorBoard> board = nullptr;
  std::shared_ptr<WorkNote> note = std::make_shared<WorkNote>();  // of this process
  StageOnDevice on_device{};
};

// How full this replica's queues have been, each with its bound (S-6), how long its work has taken, and on what.
struct StageMarks {
  HighWater waiting{"forwards too early"};
  HighWater held_parts{"parts before reduce"};
  HighWater evaluations{"evaluations"};
  WorkSoFar work;
  std::uint64_t turned_away = 0;        // answers and orders, as far as the trace has told
  std::optional<DeviceWork> on_device;  // set while the actor lives
};

// A job that was handed in and has not ended, as the trace and the note tell of it.
struct HandedIn {
  Cause cause;
  std::string_view word;
  bool is_of_a_microbatch = false;
  std::uint64_t span = 0;  // from when the device has come to it
};

// Says in the trace where everything of this actor belongs.
struct StageInTrace {
  Cause cause;                     // run, term, branch and stage; the rest is filled in by trace_cause()
  std::uint64_t state_layout = 0;  // of the tensors that its digests are of
};

// Threads and devices that work for it.
struct StageRunners {
  std::unique_ptr<JobRunner> jobs;
  std::unique_ptr<CollectiveRunner> collective;  // none: the stage sums by its connections alone
};

struct StageState {
  static inline const char* name = "stage";
  StageRunners runners;            // first: an aggregate that begins with a handle would be built from self
  std::deque<HandedIn> handed_in;  // in the order of their ends
  std::optional<ReplicaCore> core;
  RouterActor router;
  std::string title;          // stage/1/0
  bool is_scheduled = false;  // a RunNextJob is under way
  ActorTrace trace;
  StageInTrace in_trace;
  StageMarks marks;
  std::shared_ptr<ActorPulse> pulse;
  std::shared_ptr<WorkNote> note;
  Incarnation replica;
};

StageActor::behavior_type stage(StageActor::stateful_pointer<StageState> self, StageSettings settings);

}  // namespace shoal
