// A whole swarm in one process and one thread: the real router, supervisor, sync groups, data loader, node agents and
// stages, over simulated links, on fake executors whose gradients record identity, or on others that a test brings.
// Only the disk is a fake: storage keeps images in memory, so the simulation reads the weights there; metrics are kept,
// not written.
//
//   spawner:   router, supervisor (memory journal) and its children, metrics
//   storage:   router, node_agent, storage        node1 .. nodeN: router, node_agent, stages
//
// A keeper starts a process that was killed again, as a new one of the same name; the spawner goes on with the journal
// and the metrics it had written. Faults come from the test: kill at a message of its choice or at a write of the
// journal, a LinkFault, or a LetterFilter. verdict.h says whether what happened was right.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/router/router.h"
#include "actors/supervisor.h"
#include "messages/values/run_events.h"
#include "runtime/base/config.h"
#include "runtime/cluster/supervisor/supervisor.h"
#include "runtime/executor/stage_executor.h"
#include "runtime/journal/store.h"
#include "runtime/pipeline/dispatch.h"
#include "runtime/trace/metrics/step_record.h"
#include "runtime/trace/work_note.h"
#include "tests/support/bounds/knobs.h"
#include "tests/support/fake_executor.h"
#include "tests/support/journal/crashing_journal.h"
#include "tests/support/journal/whole_journal.h"
#include "tests/support/simulation/clockwork.h"
#include "tests/support/simulation/collectives.h"
#include "tests/support/simulation/late_devices.h"
#include "tests/support/simulation/network.h"

namespace shoal {

// A microbatch that ends whoever computes it.
struct SwarmPoison {
  StepId step{4};
  MicrobatchId microbatch{3};
  StageId stage;
  bool in_backward = false;   // not in the last stage
  bool ends_process = false;  // otherwise the stage's actor
  int times_max = 1000;
};

// Real work in place of identities: nobody checks it, and no replica begins with a saved state of it.
struct SwarmWork {
  Config config;  // pipeline, steps and checkpoints are those of the shape
  std::function<std::unique_ptr<StageExecutor>(StageId)> make_executor;
  std::shared_ptr<const SampleSource> samples;
};

struct SwarmShape {
  std::uint32_t stages = 2;
  std::uint32_t replicas = 2;
  std::vector<std::uint32_t> replicas_listed{};  // one for each stage; empty: `replicas` of every stage
  std::optional<Duration> rebalance_every{};     // replicas move between stages, by whatever speeds were measured
  std::uint64_t steps = 10;
  std::uint32_t microbatches = 6;
  std::uint64_t checkpoint_every = 0;
  Schedule schedule = Schedule::k1f1b;
  Routing routing = Routing::kIwrr;
  LetterFilter filter;  // used by every router
  std::optional<SwarmPoison> poison{};
  std::optional<SwarmWork> work{};
  SyncConfig sync{};                              // rounds, with mode = diloco
  std::optional<std::uint64_t> snapshot_every{};  // entries of the journal; 0: never; none: as drawn
  bool draws_bounds = true;                       // small ones, from the seed (bounds/knobs.h)
  std::optional<std::uint64_t> piece_bytes{};     // of a state in pieces; none: as drawn
  bool has_late_devices = false;                  // jobs end later, values are resident (late_devices.h)
  bool has_collectives = false;                   // a library sums on devices (collectives.h)
  bool shares_devices = false;                    // swarm.share_devices
  std::uint32_t nodes = 0;                        // at the start; 0: stages x replicas
  // Less than a sync group waits before it looks by itself: nothing may need that.
  Duration time_max = std::chrono::minutes(4);
};

struct SwarmEnd {
  int exit_status = 0;
  std::string reason;
};

// Looks for a checkpoint that were not over at once, also those of a spawner that has died.
struct LateLooks {
  std::uint64_t under_way = 0;
  std::uint64_t ended = 0;
};

// Everything that can be said about a run when it is over.
struct SwarmRecord {
  std::optional<SwarmEnd> end;  // none: the run hangs
  std::vector<RunEvent> events;
  std::vector<ReplicaReport> reports;
  std::vector<StepRecord> lines;                                                 // lines of metrics.jsonl
  std::map<std::pair<std::uint64_t, StageId>, std::vector<std::int64_t>> saved;  // (steps applied, stage) -> weights
  std::map<std::pair<std::uint64_t, StageId>, SaveShard> shards;                 // the same, of a SwarmWork
  std::map<Incarnation, StageId> stage_of;                                       // every replica that was started
  std::shared_ptr<FakePasses> passes = std::make_shared<FakePasses>();
  std::shared_ptr<FakeSamples> samples = std::make_shared<FakeSamples>();  // with rounds: what stage 0 was given

  [[nodiscard]] std::vector<std::string> reasons_of(RunEventKind kind) const;
};

class SimulatedSwarm {
 public:
  SimulatedSwarm(SwarmShape shape, std::uint64_t seed);
  ~SimulatedSwarm();
  SimulatedSwarm(const SimulatedSwarm&) = delete;
  SimulatedSwarm& operator=(const SimulatedSwarm&) = delete;

  // Runs to the end, or to the bounds on messages and virtual time: then the run hangs and its record has no end.
  void run();
  // One message, and what it brings about; false: the run is over.
  bool run_one();
  // The run that ended goes on to so many steps, in new processes: `shoal train --resume`.
  void resume(std::uint64_t steps);

  [[nodiscard]] SimulationNetwork& network() { return network_; }
  [[nodiscard]] SimulationClockwork& clockwork() { return clockwork_; }
  [[nodiscard]] const SimulationClockwork& clockwork() const { return clockwork_; }
  [[nodiscard]] const SwarmShape& shape() const { return shape_; }
  [[nodiscard]] const SwarmRecord& record() const { return *record_; }
  // All that were ever durable.
  [[nodiscard]] const std::vector<JournalEntry>& journal() const { return journal_->all(); }
  // Counts how often its oldest entries gave way to a snapshot.
  [[nodiscard]] std::uint64_t cuts() const { return journal_->cuts(); }
  // A number that two runs share only if they had the same letters, entries and events at the same virtual times.
  [[nodiscard]] std::uint64_t fingerprint() const;
  [[nodiscard]] std::uint64_t seed() const { return seed_; }
  // Ensure that it has late devices.
  [[nodiscard]] const LateCounts& late_counts() const { return late_.value().counts(); }
  void take_in_passes(Duration pass) { late_.value().take_in_passes(pass); }
  // Ensures that it has collectives.
  [[nodiscard]] const CollectiveCounts& collective_counts() const { return collectives_.value().counts(); }
  [[nodiscard]] const LateLooks& late_looks() const { return late_looks_; }
  // Bounds that are other than usual in this run.
  [[nodiscard]] std::string knobs() const { return knobs_.text(); }

  // Names of the processes that live: node1 .. nodeN, storage; not the spawner.
  [[nodiscard]] std::vector<std::string> processes() const;
  [[nodiscard]] bool is_alive(const std::string& process) const { return processes_.contains(process); }
  // SIGKILL: its actors end at once, its links break; its keeper starts it again half a second later. "spawner" too.
  void kill(const std::string& process);
  // SIGKILL, and nobody starts it again: a machine that is gone.
  void take_away(const std::string& node);
  // A machine that joins: nodeN, the next one.
  void add_node();
  // The spawner dies at this write of its journal from now on (1: the next one), before or after it is durable.
  void kill_at_write(std::uint64_t write, WriteFate fate);
  // The links of a process break; it lives and dials again.
  void cut(const std::string& process);
  // Cuts the links between two processes.
  void cut(const std::string& one, const std::string& other);
  // SIGSTOP, and SIGCONT after that time. Its links break when it was silent for as long as the transport allows.
  void pause(const std::string& process, Duration time);
  // Nothing gets through from one to the other for so long; links that it makes silent for too long break.
  void stall(const std::string& from, const std::string& to, Duration time);
  // Ends one actor of the spawner: "data_loader" or "sync_group/N". False: there is none now.
  bool kill_child(const std::string& actor);
  // Freezes a child for so long; a successor may have its place before that time is over. False: there is none now.
  bool freeze_child(const std::string& actor, Duration time);
  // Ends one stage actor of a process. False: it has none now.
  bool kill_stage(const std::string& process);
  [[nodiscard]] SimulatedPort port_of(const std::string& process) const { return processes_.at(process).port; }
  // A person's wish, of whoever is supervisor now.
  void ask_for_checkpoint();
  // Port of the process with this number; nothing: it is no more.
  [[nodiscard]] std::optional<SimulatedPort> port_of(ProcessIncarnation process) const;

 private:
  struct Process {
    SimulatedPort port = 0;
    std::vector<caf::actor> actors;  // in the order of their starts
    std::vector<caf::actor> stages;
    std::shared_ptr<ProcessIncarnation> number = std::make_shared<ProcessIncarnation>();
  };
  struct Ending {
    std::string process;
    SimulatedPort port = 0;  // the port in that life
    int exit_status = 0;
  };

  [[nodiscard]] RouterActor start_router(Process& process, ProcessRole role, const std::string& name);
  void start_all();
  void start_spawner();
  void start_supervisor(const RouterActor& mail);
  void look(const FindCheckpoint& wanted, const TellLook& tell);
  void start_process(const std::string& name);
  void start_agent(const std::string& name, const RouterActor& mail);
  [[nodiscard]] StageActor start_stage(const std::string& name, const RouterActor& mail, const SpawnStage& order,
                                       const Welcome& welcome);
  [[nodiscard]] std::unique_ptr<StageExecutor> make_executor(const std::string& name, const SpawnStage& order);
  void set_trap(const std::string& name, const SpawnStage& order, FakeExecutor& executor);
  [[nodiscard]] std::string note_path(const std::string& name) const;
  void end_process(std::string name);  // a copy: the name may be the one that is erased
  [[nodiscard]] std::vector<caf::actor> actors_of(const std::string& process) const;
  void keep_processes();

  SwarmShape shape_;
  std::uint64_t seed_;
  Knobs knobs_;
  Config config_;
  std::shared_ptr<SwarmRecord> record_ = std::make_shared<SwarmRecord>();
  SimulationClockwork clockwork_;
  SimulationNetwork network_;
  std::optional<LateDevices> late_;
  std::optional<SimulatedCollectives> collectives_;
  std::shared_ptr<WholeJournal> journal_;
  std::shared_ptr<CrashPlan> crash_ = std::make_shared<CrashPlan>();
  Term term_;
  std::optional<std::vector<Peer>> on_record_;  // who has which number, for the next spawner
  SimulatedPort ports_ = 0;
  std::uint32_t nodes_ = 0;  // that there ever were
  std::map<std::string, Process> processes_;
  std::map<std::string, caf::actor> children_;
  std::optional<SupervisorActor> supervisor_;
  std::vector<caf::actor> frozen_;                          // children, maybe some that others have succeeded
  std::map<std::string, std::shared_ptr<WorkNote>> notes_;  // by process, on its way to the next life
  int poisonings_ = 0;
  LateLooks late_looks_;
  std::vector<Ending> endings_;                           // said by actors during the current message
  std::map<std::string, Instant> start_due_;              // by their keepers
  std::multimap<Instant, std::function<void()>> agenda_;  // later effects of faults
};

}  // namespace shoal
