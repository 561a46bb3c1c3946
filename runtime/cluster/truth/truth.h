// Truth of a run, as every duty of the supervisor may read it: what the journal says, who is in, how far each
// part of the run's business is.
//
// Entries and facts change it in follow(). Every other part has one duty that changes it, by a reference that the frame
// gives it; all others read. Nothing here is needed after a restart that the journal does not say again (P-4). Pure.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>

#include "runtime/cluster/balance/machine_places.h"
#include "runtime/cluster/balance/measured_speeds.h"
#include "runtime/cluster/ballots.h"
#include "runtime/cluster/last_step.h"
#include "runtime/cluster/recovery/checkpoint_tracker.h"
#include "runtime/cluster/recovery/fallback.h"
#include "runtime/cluster/recovery/joining_replicas.h"
#include "runtime/cluster/recovery/replacement.h"
#include "runtime/cluster/recovery/shared_devices.h"
#include "runtime/cluster/roster.h"
#include "runtime/cluster/starting_replicas.h"
#include "runtime/cluster/truth/dismissal.h"
#include "runtime/cluster/truth/facts.h"
#include "runtime/cluster/truth/journal_history.h"
#include "runtime/cluster/truth/run_clock.h"
#include "runtime/cluster/watch/signs_of_life.h"

namespace shoal {

// Replicas that a run begins with, and starts that failed.
struct Starts {
  StartingReplicas replicas;
  StartBudget budget;
  std::string misfit;  // why no places are found for as many workers as are wanted
};

// How a run ends: after which step, and in which order its processes do.
struct Ending {
  LastStep last_step;
  Dismissal dismissal;
};

// Bytes of machines' memory.
struct HostLoad {
  std::uint64_t given = 0;                              // the least that a living worker states; 0: none states any
  std::map<ProcessIncarnation, std::uint64_t> taken{};  // by each process, of whatever node
};
using HostLoads = std::map<MachineName, HostLoad>;

struct Truth {
  SupervisorConfig config;  // its start: the state that the branch began with
  Roster roster;            // processes and refusals: gathering; who leaves: draining; ended and removed: losses, and
                            // removed to make room for another, and who gives way: sharing; who moves: rebalancing
  JournalHistory history;
  RunPhase phase = RunPhase::kGathering;
  RunClock clock;
  Starts starts;                               // starting
  JoiningReplicas joins;                       // joining
  Ballots ballots;                             // steps, and of rounds: rounds
  CheckpointTracker checkpoints;               // the duty of the same name
  Fallback fallback;                           // losses
  StartSearch search;                          // roll-back
  Ending ending;                               // the duty of the same name
  SignsOfLife signs;                           // watching
  MeasuredSpeeds speeds;                       // rebalancing
  std::optional<std::string> unreadable_text;  // why the data loader waits; until one reads, or a step commits

  explicit Truth(SupervisorConfig given);

  // Before the term begins: what the journal already holds, in order; first what it has in place of its oldest entries.
  void replay(const JournalSnapshot& past);
  void replay(const JournalEntry& entry);
  void replay_kernels(const std::string& kernels);  // that it has trained with; empty: nobody knows
  // The entry that comes next is durable.
  void follow(const JournalEntry& entry);
  void follow(const TermBegins& begins, Instant now);
  void follow(const PhaseBegins& begins, Instant now);
  void follow(const BranchBegins& begins, Instant now);
  void follow(const TrainingBegins& begins, Instant now);
  void follow(const DataLoaderEnded& ended, Instant now);
  void follow(const Commit& commit, Instant now);

  [[nodiscard]] const View& view() const { return roster.view; }
  // Steps of the state that the run stands at, for events: a branch that has begun stands where it begins, though its
  // first entry is not in the view yet.
  [[nodiscard]] std::uint64_t steps_done() const;
  // Steps of the newest checkpoint that is known to have been there; none: the run has none.
  [[nodiscard]] std::optional<std::uint64_t> newest_saved() const;
  [[nodiscard]] bool is_training() const { return phase == RunPhase::kTraining; }
  // Also that it is over.
  [[nodiscard]] bool is_ending() const { return phase >= RunPhase::kEnding; }
  [[nodiscard]] bool has_storage() const { return !roster.processes.alive(ProcessRole::kStorage).empty(); }
  [[nodiscard]] std::optional<LastOfStage> last_that_leaves() const { return roster.last_that_leaves(joins.joiners()); }
  // Those who leave and may go between two steps: others serve their stages, and nothing of theirs is being saved. By
  // process, with the reason.
  [[nodiscard]] std::map<ProcessIncarnation, std::string> leavers_not_missed() const;
  // True while its stage has enough others that stay, and the other stage somebody to copy.
  [[nodiscard]] bool can_mover_leave() const;
  // And between two steps it may: nothing of it is being saved.
  [[nodiscard]] bool may_mover_go() const;
  // Returns the member that is not needed because its worker serves another stage, and others serve this one (P-28c).
  [[nodiscard]] std::optional<SharedMember> superfluous() const;
  // True while members may give way at all.
  [[nodiscard]] bool may_give_way() const;
  // And the one that is to may go between two steps: it is still not needed, and nothing of it is being saved.
  [[nodiscard]] bool may_giver_go() const;
  // False in the last step: nothing would come of it.
  [[nodiscard]] bool may_join() const;
  // Nobody has trained since a person began this run, or went on with it.
  [[nodiscard]] bool is_first_start() const;
  // At the first start all replicas are waited for; a run that was thrown back trains with what is left.
  [[nodiscard]] bool is_patience_over(Instant now) const;
  // Actors that the effects of one event may start before a block of numbers that they ask for is there: each worker a
  // replica (shared devices: each place one, too), each stage its group, a data loader and an order of a person.
  [[nodiscard]] std::uint64_t actors_at_once() const;
  // Returns what replicas take of the machines beneath their workers: those who serve, join or start.
  [[nodiscard]] HostLoads host_loads() const;
  // Returns what a process gives: of its machine's memory what the other workers there leave.
  [[nodiscard]] MachineOffer offer_of(ProcessIncarnation process, const HostLoads& loads) const;
  // Says whether a process has stated memory enough for a replica of the stage, as far as both are known.
  [[nodiscard]] bool fits(ProcessIncarnation process, StageId stage, const HostLoads& loads) const;
  // Adds what a person needs to know where memory is short.
  [[nodiscard]] std::string with_needs(StageId stage, const std::string& why) const;
  // Returns living workers that all reach each other and storage, as far as is said now; whoever starts is among them.
  [[nodiscard]] std::set<ProcessIncarnation> workers_in_reach(Instant now) const;
};

}  // namespace shoal
