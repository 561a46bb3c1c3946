// SupervisorCore: membership, placement, commits and the end of a run. Everything others follow is a journal entry.
//
//   gathering ──enough workers──▶ spawning ──all replicas ready──▶ training ──target or stop──▶ ending ──▶ over
//      ▲  ▲                                                        ▲     │ a stage lost its last replica
//      │  └────────────────────────── rolling back ◀───────────────│─────┘
//      │                                   ▲ a stage has nobody    │
//   start ──a run that is under way──▶ returning ──members are back┘
//
// The frame of the duties (duties/): what comes in is handed to all duties in one fixed order (DutiesInOrder). A duty
// reads the Truth and answers with effects and facts. A fact changes the Truth and goes to all duties before the rest
// of the answer that holds it. So one input is settled depth first, until no fact is left:
//
//   message, tick, durable entry ──▶ truth follows ──▶ duty 1 ──▶ duty 2 ──▶ ... ──▶ effects, in that order
//                                         ▲                │ fact
//                                         └────────────────┘
//
// P-2 by construction: the core only *asks* for an entry (AppendEntry); the shell makes it durable, then calls
// appended(), and only that changes the view and sends anything. P-4: nothing volatile here matters; votes come again.
// Pure: time comes in, effects go out, to be performed in order, each completely before the next.
#pragma once

#include <string>
#include <vector>

#include "runtime/cluster/operate/machine_words.h"
#include "runtime/cluster/supervisor/duties_in_order.h"
#include "runtime/cluster/truth/truth.h"
#include "runtime/cluster/truth/waiting_words.h"

namespace shoal {

class SupervisorCore {
 public:
  using Phase = RunPhase;

  explicit SupervisorCore(SupervisorConfig config);
  SupervisorCore(const SupervisorCore&) = delete;  // the duties refer to the truth
  SupervisorCore& operator=(const SupervisorCore&) = delete;

  // Before begin(): what the journal already holds, in order; first what it has in place of its oldest entries.
  void replay(const JournalSnapshot& past) { truth_.replay(past); }
  void replay(const JournalEntry& entry) { truth_.replay(entry); }
  void replay_kernels(const std::string& kernels) { truth_.replay_kernels(kernels); }
  [[nodiscard]] SupervisorEffects begin(Instant now);

  // Answers to effects.
  [[nodiscard]] JournalEntry entry_for(const JournalBody& body) const;
  [[nodiscard]] SupervisorEffects appended(const JournalEntry& entry, Instant now);
  [[nodiscard]] SupervisorEffects journal_failed(const std::string& reason, int exit_status, Instant now);
  void reserved(bool are_processes, std::uint64_t first, std::uint64_t count);
  [[nodiscard]] SupervisorEffects looked(const LookEnd& end, Instant now);

  // A message that some duty hears (supervisor.cpp lists them).
  template <class Message>
  [[nodiscard]] SupervisorEffects hear(const Message& message, Instant now);
  [[nodiscard]] SupervisorEffects hear(const RunEvent& event, Instant now);
  // A process that certainly does not run any more.
  [[nodiscard]] SupervisorEffects gone(ProcessIncarnation process, const std::string& reason, Instant now);
  // A signal: finish the step, save, end with the status.
  [[nodiscard]] SupervisorEffects stop(const std::string& reason, int exit_status, Instant now);
  // A sync group or the data loader of this process ended.
  [[nodiscard]] SupervisorEffects group_ended(StageId stage, Incarnation group, const std::string& reason, Instant now);
  [[nodiscard]] SupervisorEffects data_loader_ended(const std::string& reason, Instant now);
  [[nodiscard]] SupervisorEffects tick(Instant now);
  // Errors are answers: an unknown name, a run that is over.
  [[nodiscard]] OperatorOutcome operate(const OperatorOrder& order, Instant now);
  // A checkpoint that a person asks for.
  [[nodiscard]] SaveOutcome save(const SaveRequest& request, Instant now);
  [[nodiscard]] std::vector<Target> targets() const { return duty<OperatorDuty>().targets(); }
  // own: what the board of this process says. Sorted: the spawner's first, then by node.
  [[nodiscard]] std::vector<ActorLine> actors(const std::vector<ActorHealth>& own = {}) const {
    return duty<OperatorDuty>().actors(own);
  }

  [[nodiscard]] std::vector<MachineLine> machines() const { return list_machines(truth_.roster.processes); }

  [[nodiscard]] JournalSnapshot snapshot() const { return truth_.history.snapshot(view()); }
  [[nodiscard]] Phase phase() const { return truth_.phase; }
  [[nodiscard]] const View& view() const { return truth_.view(); }
  // Why it trains or does not: "waiting for 1 node for stage 1, since 3 min".
  [[nodiscard]] std::string explain_waiting(Instant now) const { return shoal::explain_waiting(truth_, now); }
  // Says why a replica that served ended last, to stand behind that.
  [[nodiscard]] std::string explain_last_end(Instant now) const { return duty<OperatorDuty>().explain_last_end(now); }
  [[nodiscard]] std::uint64_t steps_target() const { return truth_.config.steps_target; }
  [[nodiscard]] std::uint64_t revoked_version() const { return duty<IntroductionDuty>().revoked_version(); }
  [[nodiscard]] std::uint64_t votes_refused() const { return truth_.ballots.refused(); }

 private:
  template <class Duty>
  [[nodiscard]] const Duty& duty() const {
    return std::get<Duty>(duties_);
  }
  // Hands around what happened, and all that follows from it; returns the effects.
  template <class Happened>
  [[nodiscard]] SupervisorEffects settle(const Happened& happened, Instant now);
  template <class Happened>
  void hand_around(const Happened& happened, Instant now);
  void take(Answers answers, Instant now);
  void take(SupervisorEffect effect);
  void take(const Announcement& announcement);
  void send(const Address& to, MessageBody body) { take(Letter{kSpawnerProcess, to, std::move(body)}); }
  [[nodiscard]] SupervisorEffects take_effects();

  Truth truth_;
  ReservedNumbers numbers_;
  DutiesInOrder duties_;
  SupervisorEffects effects_;   // of the input that is being settled
  std::size_t unrecorded_ = 0;  // entries that were asked for
};

}  // namespace shoal
