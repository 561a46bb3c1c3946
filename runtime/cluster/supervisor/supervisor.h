// SupervisorCore: membership, placement, commits and the end of a run. Everything others follow is a journal entry.
//
//   gathering ──enough workers──▶ spawning ──all replicas ready──▶ training ──target or stop──▶ ending ──▶ over
//      ▲  ▲                                                        ▲     │ a stage lost its last replica
//      │  └────────────────────────── rolling back ◀───────────────│─────┘
//      │                                   ▲ a stage has nobody    │
//   start ──a run that is under way──▶ returning ──members are back┘
//
// P-2 by construction: the core only *asks* for an entry (AppendEntry); the shell makes it durable, then calls
// appended(), and only that changes the view and sends anything. P-4: nothing volatile here matters; votes come again.
// A stage that lost its last replica sends all stages back to the newest checkpoint (P-29), once the step that could
// still commit is settled. After a restart of the spawner the members of the newest branch are waited for, and go on.
// Pure: time comes in, effects go out, to be performed in order, each completely before the next.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/time/progress_watch.h"
#include "runtime/base/time/watched_time.h"
#include "runtime/cluster/ballots.h"
#include "runtime/cluster/dismissal.h"
#include "runtime/cluster/failed_starts.h"
#include "runtime/cluster/last_step.h"
#include "runtime/cluster/number_block.h"
#include "runtime/cluster/operate/run_actors.h"
#include "runtime/cluster/recovery/checkpoint_desk.h"
#include "runtime/cluster/recovery/divergence.h"
#include "runtime/cluster/recovery/fallback.h"
#include "runtime/cluster/recovery/poison.h"
#include "runtime/cluster/recovery/replacement.h"
#include "runtime/cluster/restart_budget.h"
#include "runtime/cluster/roster.h"
#include "runtime/cluster/starting_replicas.h"
#include "runtime/cluster/step_timer.h"
#include "runtime/cluster/supervisor/supervisor_effects.h"
#include "runtime/cluster/watch/signs_of_life.h"
#include "runtime/cluster/watch/waiting_notice.h"
#include "runtime/journal/branches.h"
#include "runtime/journal/contributed_tokens.h"
#include "runtime/journal/lost_samples.h"
#include "runtime/journal/snapshot_desk.h"

namespace shoal {

class SupervisorCore {
 public:
  enum class Phase { kReturning, kRollingBack, kGathering, kSpawning, kTraining, kEnding, kOver };

  explicit SupervisorCore(SupervisorConfig config);

  // Before begin(): what the journal already holds, in order; first what it has in place of its oldest entries.
  void replay(const JournalSnapshot& past);
  void replay(const JournalEntry& entry);
  [[nodiscard]] SupervisorEffects begin(Instant now);

  // Answers to effects.
  [[nodiscard]] JournalEntry entry_for(const JournalBody& body) const;
  [[nodiscard]] SupervisorEffects appended(const JournalEntry& entry, Instant now);
  [[nodiscard]] SupervisorEffects journal_failed(const std::string& reason, int exit_status, Instant now);
  void reserved(bool are_processes, std::uint64_t first, std::uint64_t count);
  [[nodiscard]] SupervisorEffects found(const StartPoint& start, Instant now);
  [[nodiscard]] SupervisorEffects not_found(const Failure& failure, Instant now);

  [[nodiscard]] SupervisorEffects hear(const Join& join, Instant now);
  [[nodiscard]] SupervisorEffects hear(const StageReady& ready, Instant now);
  [[nodiscard]] SupervisorEffects hear(const StageEnded& ended, Instant now);
  [[nodiscard]] SupervisorEffects hear(const ProcessLost& lost, Instant now);
  [[nodiscard]] SupervisorEffects hear(const Leaving& leaving, Instant now);
  [[nodiscard]] SupervisorEffects hear(const Heartbeat& heartbeat, Instant now);
  [[nodiscard]] SupervisorEffects hear(const PeerUnreachable& complaint, Instant now);
  [[nodiscard]] SupervisorEffects hear(const PeerRefused& refusal, Instant now);
  // A process that certainly does not run any more.
  [[nodiscard]] SupervisorEffects gone(ProcessIncarnation process, const std::string& reason, Instant now);
  [[nodiscard]] SupervisorEffects hear(const Prepared& vote, Instant now);
  [[nodiscard]] SupervisorEffects hear(const FetchJournal& fetch, Instant now);
  [[nodiscard]] SupervisorEffects hear(const CheckpointSaved& saved, Instant now);
  [[nodiscard]] SupervisorEffects hear(const CheckpointFailed& failed, Instant now);
  [[nodiscard]] SupervisorEffects hear(const StateProgress& progress, Instant now);
  [[nodiscard]] SupervisorEffects hear(const StateUnavailable& lost, Instant now);  // a shard, with its link
  [[nodiscard]] SupervisorEffects hear(const EvaluationResult& result, Instant now);
  [[nodiscard]] SupervisorEffects hear(const RunEvent& event, Instant now);
  // Whose certificates are refused from now on; sent to everybody who is in, and to whoever joins.
  [[nodiscard]] SupervisorEffects hear(const Revocations& list, Instant now);
  // A signal: finish the step, save, end with the status.
  [[nodiscard]] SupervisorEffects stop(const std::string& reason, int exit_status, Instant now);
  // A sync group or the data loader of this process ended.
  [[nodiscard]] SupervisorEffects group_ended(StageId stage, Incarnation group, const std::string& reason, Instant now);
  [[nodiscard]] SupervisorEffects data_loader_ended(const std::string& reason, Instant now);
  [[nodiscard]] SupervisorEffects tick(Instant now);
  // supervisor_operator.cpp. Errors are answers: an unknown name, a run that is over.
  [[nodiscard]] OperatorOutcome operate(const OperatorOrder& order, Instant now);
  [[nodiscard]] std::vector<Target> targets() const;
  // own: what the board of this process says. Sorted: the spawner's first, then by node.
  [[nodiscard]] std::vector<ActorLine> actors(const std::vector<ActorHealth>& own = {}) const;

  [[nodiscard]] JournalSnapshot snapshot() const;
  [[nodiscard]] Phase phase() const { return phase_; }
  [[nodiscard]] const View& view() const { return roster_.view; }
  // Why it trains or does not: "waiting for 1 node for stage 1, since 3 min".
  [[nodiscard]] std::string explain_waiting(Instant now) const;
  [[nodiscard]] std::uint64_t steps_target() const { return config_.steps_target; }
  [[nodiscard]] std::uint64_t revoked_version() const { return revoked_.version; }
  [[nodiscard]] std::uint64_t votes_refused() const { return ballots_.refused(); }

 private:
  [[nodiscard]] std::string explain_phase(Instant now) const;
  void keep_books(const JournalEntry& entry);  // supervisor_books.cpp
  void come_back(Instant now);  // supervisor_return.cpp, from here
  void end_again(Instant now);
  void begin_return();
  [[nodiscard]] bool is_return(const Join& join) const;
  [[nodiscard]] bool turn_away(const Join& join);
  void take_back(const Join& join, Instant now);
  void compare_served(const Join& join, ProcessIncarnation process);
  void check_return(Instant now);
  void conclude_return(Instant now);

  // supervisor_rollback.cpp
  void roll_back(const std::string& reason, Instant now);
  void find_start(FindCheckpoint wanted);
  void find_start_again(Instant now);
  void start_over(const StartPoint& start, Instant now);
  void start_elsewhere(const std::string& why, Instant now);
  [[nodiscard]] bool is_first_start() const;
  [[nodiscard]] std::string with_needs(StageId stage, const std::string& why) const;
  [[nodiscard]] bool is_patience_over(Instant now) const;

  // supervisor_starting.cpp
  [[nodiscard]] std::vector<Worker> free_workers(Instant now) const;
  void place_if_enough(Instant now);
  void fill_places(Instant now);
  void start_replica(const Placement& placement);
  void start_failed(const StartingReplica& failed, const std::string& reason, Instant now);
  [[nodiscard]] std::size_t untried_workers() const;
  void replace_silent(Instant now);
  [[nodiscard]] bool are_enough(const StartProgress& progress, Instant now) const;
  void admit_replicas(Instant now);

  // supervisor_members.cpp
  void begin_training(Instant now);
  void lose_process(ProcessIncarnation process, const std::string& reason, Instant now, Departure how = kWasLost);
  void remove_dead(const std::string& reason, Instant now);
  void lose_stage(StageId stage, const std::string& reason, Instant now);
  void send_peers();
  void place_joiners(Instant now);  // supervisor_joiners.cpp
  void tend_joiners(Instant now);
  void end_joiners(const std::string& reason);
  void decided(const JoinDecision& decision, Instant now);
  void hear_while_training(const StageReady& ready, Instant now);
  void end_unless_member(const StageReady& ready);
  void ended_on(ProcessIncarnation process, const std::string& reason, Instant now);
  void suspect(const StageEnded& ended, Instant now);  // supervisor_poison.cpp
  [[nodiscard]] bool may_join() const;
  [[nodiscard]] ReplacementQuestion who_is_lacking(Instant now) const;
  void watch(Instant now);  // supervisor_watch.cpp, from here
  void end_lost(ProcessIncarnation process);
  void link_again(const Join& join, ProcessIncarnation process, Instant now);
  void order_again(ProcessIncarnation process);
  [[nodiscard]] RunActors who_is_there() const;  // supervisor_operator.cpp, from here
  [[nodiscard]] OperatorOutcome evict(const OperatorOrder& order, Instant now);
  [[nodiscard]] std::string put_out(ProcessIncarnation process, const OperatorOrder& order, Instant now);
  void send_revoked(ProcessIncarnation process);
  // supervisor_drain.cpp
  [[nodiscard]] std::string drain(ProcessIncarnation process, const std::string& reason, Instant now);
  void tell_who_is_avoided();
  bool let_leavers_go(Instant now);  // whether somebody went
  void let_saved_leavers_go(Instant now);
  void let_all_leavers_go(Instant now);
  void send_away(ProcessIncarnation process, const std::string& reason, Instant now);

  // supervisor_rounds.cpp
  [[nodiscard]] std::vector<std::pair<StageId, RoundId>> open_rounds() const;  // due before the next commit
  void look(Instant now);
  // As watched(), on a clock that stands still also while rounds are open: replicas save, evaluate and give copies
  // after them, however long their sums take, so nobody's patience with that counts meanwhile. Sync groups watch the
  // sums.
  [[nodiscard]] Instant outside_rounds() const { return watched() - in_rounds_; }
  void commit_rounds();
  [[nodiscard]] std::string lacking_for_quorum() const;
  [[nodiscard]] CommitRound round_of(const Prepared& vote) const;
  [[nodiscard]] StepId contributed_before(const RoundId& round) const;
  // supervisor_steps.cpp
  [[nodiscard]] CommitDecision next_commit() const;
  void commit_if_possible(Instant now);
  [[nodiscard]] SupervisorEffects conclude(Instant now);
  [[nodiscard]] CheckpointsKept checkpoints_kept() const;
  void begin_step(Instant now);
  void after_commit(const Commit& commit, Instant now);
  void tend_checkpoint(Instant now);
  [[nodiscard]] bool has_storage() const { return !roster_.processes.alive(ProcessRole::kStorage).empty(); }
  void last_checkpoint_failed(const std::string& reason, Instant now);
  void conclude_if_done(Instant now);
  void settle_loss(Instant now);
  void finish(int exit_status, const std::string& reason, const std::string& event, Instant now);
  void tell_end(int exit_status, const std::string& reason, const std::string& event, Instant now);
  void dismiss(ProcessRole role);
  void end_if_left(Instant now);
  void escalate(const std::string& child, const std::string& reason, Instant now);
  void start_group(StageId stage);
  void start_data_loader();
  void send(const Address& to, MessageBody body);
  void announce(const std::string& event, const std::string& subject, const std::string& reason);
  // As of the last tick, on a clock that stands still with us: what patience with others is counted on.
  [[nodiscard]] Instant watched() const { return Instant{} + time_.watched(); }
  void note(const std::string& text) { effects_.push_back(Note{text}); }
  void append(JournalBody body) { ++unrecorded_, effects_.push_back(AppendEntry{std::move(body)}); }
  [[nodiscard]] SupervisorEffects take_effects();
  [[nodiscard]] std::uint64_t numbers_at_once(NumberKind kind) const;

  SupervisorConfig config_;
  Roster roster_;
  Revocations revoked_;
  Branches branches_;
  Phase phase_ = Phase::kGathering;
  Instant phase_since_{}, step_since_{}, peers_at_{};
  WatchedTime time_{std::chrono::seconds(1)};  // looked at with every tick: they come several times as often
  Duration in_rounds_{};                       // of what we watched
  Instant step_begun_{};                       // as step_since_, outside rounds
  ProgressWatch evaluation_{Instant{}};        // of the state after the newest commit
  StepTimer step_timer_;
  SignsOfLife signs_;
  WaitingNotice notice_;
  std::uint64_t peers_serial_ = 0;
  ReservedNumbers numbers_;
  StartingReplicas starting_;
  FailedStarts failed_starts_;  // since this start began
  Instant start_not_before_{};  // a pause between two from one checkpoint
  Ballots ballots_;
  ToldToEnd told_to_end_;
  RestartBudget restarts_;
  StartBudget starts_;
  JoinDesk joins_;
  PoisonWatch poison_;
  LostSamples lost_samples_;
  ContributedTokens contributed_tokens_;
  SnapshotDesk snapshots_;
  LastStep last_step_;
  Fallback fallback_;
  StartSearch search_;
  std::optional<StartInVain> in_vain_;  // since a run has trained
  CheckpointDesk checkpoints_;
  Dismissal dismissal_;
  SupervisorEffects effects_;
  std::size_t unrecorded_ = 0;  // entries that were asked for
};

}  // namespace shoal
