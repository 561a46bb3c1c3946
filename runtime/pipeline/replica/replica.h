// One replica: a frame and its parts. A message, an entry or a job's result is a turn: the parts that hear it answer
// with effects and facts. A fact changes what is true (ReplicaStanding), then the parts hear it, until none is left.
//
//                 ┌ ReplicaData      microbatches and their tensors: ledger, queue, replies, evaluations
//   message ──▶   ├ StepAgreement    orders of the sync group, the sum of a step, its commit      ──▶ effects, in order
//   entry         ├ RoundAgreement   rounds, and the boundary between steps
//   result        ├ StateTaken       the state that it starts with, copies of others' states
//   ◀── facts ──  ├ StateGiven       the state that others get of it
//                 └ StepEnding       apply, report, checkpoint, next step
//
// Always in this order; a fact is heard before the next part hears what brought it about. No part calls another. Pure:
// time comes in. A RunJob effect is the last of its list; its result may be given to completed() at once or later, in
// the order of the jobs. Until then no order meets it: what comes is first offered to admits(), which keeps what has to
// wait, and take_held() gives it back. Rules: P-5 .. P-9, P-11, P-15, P-18, P-23 .. P-28, P-31.
#pragma once

#include <optional>
#include <vector>

#include "messages/letter.h"
#include "runtime/base/clock.h"
#include "runtime/journal/view.h"
#include "runtime/pipeline/replica/replica_data.h"
#include "runtime/pipeline/replica/replica_setup.h"
#include "runtime/pipeline/replica/replica_standing.h"
#include "runtime/pipeline/replica/replica_turn.h"
#include "runtime/pipeline/replica/round_agreement.h"
#include "runtime/pipeline/replica/state/state_given.h"
#include "runtime/pipeline/replica/state/state_taken.h"
#include "runtime/pipeline/replica/step_agreement.h"
#include "runtime/pipeline/replica/step_ending.h"
#include "runtime/pipeline/replica_fill.h"

namespace shoal {

template <class Heard>
concept HeardByAReplica =
    PartHears<ReplicaData, Heard> || PartHears<StepAgreement, Heard> || PartHears<RoundAgreement, Heard> ||
    PartHears<StateTaken, Heard> || PartHears<StateGiven, Heard> || PartHears<StepEnding, Heard>;

class ReplicaCore {
 public:
  ReplicaCore(ReplicaSetup setup, Instant now);
  ReplicaCore(const ReplicaCore&) = delete;
  ReplicaCore& operator=(const ReplicaCore&) = delete;

  // Loads or fetches the state it starts with; StageReady follows. Call once, first.
  [[nodiscard]] Effects begin(Instant now);
  // False: jobs under way have to end first, and it is kept. Asked once of everything that comes, in its order.
  template <class Message>
  [[nodiscard]] bool admits(const Message& message) {
    const bool may_be_heard = held_.is_empty() && turn_.jobs().may_hear<Message>();
    if (!may_be_heard) held_.hold(message);
    return may_be_heard;
  }
  // The oldest that was kept, if it may be heard now. Asked after each completed(), until there is none.
  [[nodiscard]] std::optional<HeldMessage> take_held() { return held_.take(turn_.jobs()); }

  // Every message that a stage hears, and the next entry of the journal: repeats are ignored; a gap asks the supervisor
  // for what is missing (P-3). Defined for those that replica.cpp lists.
  template <HeardByAReplica Message>
  [[nodiscard]] Effects receive(const Message& message, Instant now);
  // The entries up to the view's position are not given. Before the first entry; who has read some, or is a member by
  // then, has been left behind, and ends.
  [[nodiscard]] Effects begin_at(const View& past, Instant now);
  // The tensor of the next Forward or Backward was on its way for so long.
  void transfer_timed(double transfer_ms);
  [[nodiscard]] Effects tick(Instant now);
  [[nodiscard]] bool has_job() const { return may_begin_a_job() && data_.has_task(standing_); }
  [[nodiscard]] Effects run_next(Instant now);
  [[nodiscard]] Effects completed(JobResult result, Instant now);

  [[nodiscard]] std::uint64_t version() const { return standing_.state.version; }
  [[nodiscard]] Phase phase() const { return standing_.phase; }
  [[nodiscard]] Epoch epoch() const { return standing_.epoch; }
  [[nodiscard]] JournalPosition position() const { return standing_.position; }
  [[nodiscard]] bool is_member() const { return standing_.is_member(); }
  // Members apply their own sums: they agree at rounds, not at steps.
  [[nodiscard]] bool keeps_sums_apart() const { return standing_.has_rounds(); }
  [[nodiscard]] ReplicaCounters counters() const;
  [[nodiscard]] std::vector<ManifestEntry> manifest() const { return data_.manifest(); }
  [[nodiscard]] ReplicaFill fill() const;

 private:
  // Gives it to every part that hears it.
  template <class Heard>
  void tell(const Heard& heard);
  template <class Heard, class Member>
  void tell_part(Member& part, const Heard& heard);
  void settle();
  void follow(const JournalEntry& entry);
  template <class Message>
  void begin_turn(Instant now);
  [[nodiscard]] bool may_begin_a_job() const { return held_.is_empty() && turn_.jobs().has_room(); }
  [[nodiscard]] StageAgreement& agreement_on(const OrderId& order);
  [[nodiscard]] Effects end_turn();

  ReplicaStanding standing_;
  ReplicaTurn turn_;
  ReplicaData data_;
  StepAgreement step_;
  RoundAgreement rounds_;
  StateTaken taken_;
  StateGiven given_;
  StepEnding ending_;
  HeldMessages held_;
};

}  // namespace shoal
