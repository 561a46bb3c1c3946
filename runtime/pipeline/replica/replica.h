// The decisions of one replica: P-5 .. P-9, P-11, P-15, P-18, P-23 .. P-25 and P-28 of the step protocol.
//
//           Prepare(e)               Reduce(e) and every part of e              Commit whose epoch for this stage is e
//   open ───────────────▶ frozen ──────────────────────────────────▶ reduced ─────────────────────────▶ open, version+1
//    ▲ ▲  Open(e'>e)         │  Open(e'>e): ledger and accumulators stay │
//    │ └─────────────────────┴───────── the sum of e is dropped ─────────┘
//    └─ Zero(e'>e): from any phase; accumulators, ledger and cached replies emptied.   Prepare(e'>e): to frozen
//
// Pure: messages and the time come in, effects come out, in the order they are to be performed. A RunJob effect is the
// last of its list; its result is given to completed() before any other call, so no order meets a running job.
// Bounded (S-6): ledger, replies and inputs by a step's microbatches; all else by the Bounds of replica_fill.h.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "messages/letter.h"
#include "runtime/base/clock.h"
#include "runtime/base/config.h"
#include "runtime/journal/view.h"
#include "runtime/pipeline/compute_queue.h"
#include "runtime/pipeline/ledger.h"
#include "runtime/pipeline/replica/replica_setup.h"
#include "runtime/pipeline/replica_fill.h"
#include "runtime/pipeline/replica_job.h"
#include "runtime/pipeline/replica_time.h"
#include "runtime/sync/reduction.h"
#include "runtime/sync/rounds/round_member.h"
#include "runtime/sync/state_copy.h"
#include "runtime/sync/state_feed.h"
#include "runtime/sync/sum_news.h"

namespace shoal {

class ReplicaCore {
 public:
  ReplicaCore(ReplicaSetup setup, Instant now);

  // Loads or fetches the state it starts with; StageReady follows. Call once, first.
  [[nodiscard]] Effects begin(Instant now);
  [[nodiscard]] Effects receive(const Forward& message, Instant now);
  [[nodiscard]] Effects receive(const Backward& message, Instant now);
  [[nodiscard]] Effects receive(const Ask& message, Instant now);
  [[nodiscard]] Effects receive(const Open& message, Instant now);
  [[nodiscard]] Effects receive(const Zero& message, Instant now);
  [[nodiscard]] Effects receive(const Prepare& message, Instant now);
  [[nodiscard]] Effects receive(const Reduce& message, Instant now);
  [[nodiscard]] Effects receive(const Part& message, Instant now);
  [[nodiscard]] Effects receive(const PartsSent& message, Instant now);
  [[nodiscard]] Effects receive(const MissingParts& message, Instant now);
  [[nodiscard]] Effects receive(const Progress& message, Instant now);  // from its own router: a piece of a part came
  // What of it this replica can give again goes on to its router, which kept the activations (P-17).
  [[nodiscard]] Effects receive(const Missing& message, Instant now);
  // The entries up to the view's position are not given. Before the first entry; who has read some, or is a member by
  // then, has been left behind, and ends.
  [[nodiscard]] Effects begin_at(const View& past, Instant now);
  // The next entry of the journal. Repeats are ignored; a gap asks the supervisor for what is missing (P-3).
  [[nodiscard]] Effects receive(const JournalEntry& message, Instant now);
  [[nodiscard]] Effects receive(const StateImage& message, Instant now);
  [[nodiscard]] Effects receive(const StateUnavailable& message, Instant now);
  [[nodiscard]] Effects receive(const FetchState& message, Instant now);
  [[nodiscard]] Effects receive(const StepSum& message, Instant now);
  // Of the state it waits for, from its own router; of one that it gave, from whoever gets it.
  [[nodiscard]] Effects receive(const StateProgress& message, Instant now);
  [[nodiscard]] Effects receive(const SaveState& message, Instant now);
  // The tensor of the next Forward or Backward was on its way for so long.
  void transfer_timed(double transfer_ms);
  [[nodiscard]] Effects tick(Instant now);
  [[nodiscard]] bool has_job() const;
  [[nodiscard]] Effects run_next(Instant now);
  [[nodiscard]] Effects completed(JobResult result, Instant now);

  [[nodiscard]] std::uint64_t version() const { return version_; }
  [[nodiscard]] Phase phase() const { return phase_; }
  [[nodiscard]] Epoch epoch() const { return epoch_; }
  [[nodiscard]] JournalPosition position() const { return position_; }
  [[nodiscard]] bool is_member() const { return membership_ == Membership::kMember; }
  // Members apply their own sums: they agree at rounds, not at steps.
  [[nodiscard]] bool keeps_sums_apart() const { return rounds_.has_value(); }
  [[nodiscard]] const ReplicaCounters& counters() const { return counters_; }
  [[nodiscard]] std::vector<ManifestEntry> manifest() const { return ledger_.manifest(); }
  [[nodiscard]] ReplicaFill fill() const;

 private:
  enum class Membership : std::uint8_t { kLoading, kReady, kMember, kEnded };
  enum class OrderKind : std::uint8_t { kNone, kOpen, kZero, kPrepare };
  enum class Verdict : std::uint8_t { kObey, kRepeat, kIgnore };
  using Order = std::variant<Open, Zero, Prepare>;
  struct Evaluation {
    Forward forward;
    std::vector<Waiter> waiters;
    Hop timing;
    Instant arrived;
    bool is_passed_on = false;  // computed, and an answer from the next stage may come
  };

  // replica.cpp: turns, letters, lifecycle.
  void begin_turn(Instant now);
  [[nodiscard]] Effects end_turn();
  void send(const Address& to, MessageBody body);
  void send_to_peer(Incarnation peer, MessageBody body);  // of the own stage
  void run(Job job, Activity activity);
  void end(std::string reason);
  void send_ready();
  [[nodiscard]] Cause cause_of(const Waiter& waiter) const;
  [[nodiscard]] OrderId order_id() const;
  [[nodiscard]] Address upstream(Incarnation replica) const;
  // For what the router of this process keeps in this replica's name.
  [[nodiscard]] Address own_router() const { return {setup_.process, Role::kRouter, setup_.stage, setup_.self}; }
  [[nodiscard]] Activity resting_activity() const;
  [[nodiscard]] bool is_last_stage() const { return setup_.stage.value + 1 == setup_.stage_count; }
  [[nodiscard]] TrainingWork training_work() const;
  [[nodiscard]] std::size_t evaluations_max() const;
  [[nodiscard]] std::size_t waiting_max() const;

  // replica_data.cpp: Forward, Backward, Ask and what was computed for them.
  void take_forward(const Forward& message);
  void take_evaluation(const Forward& message);
  [[nodiscard]] std::optional<RefusalReason> reason_to_refuse(const Forward& message) const;
  [[nodiscard]] bool is_known(Incarnation replica, std::uint32_t stage) const;
  [[nodiscard]] std::size_t members_of_stage() const;
  void wait_for_version(const Forward& message);
  void readmit_waiting();
  void refuse(const Waiter& asker, Purpose purpose, RefusalReason reason);
  void take_evaluation_answer(const Backward& message);
  void answer(const Waiter& waiter, Backward reply);
  void give_reply(LedgerEntry& entry, const Waiter& waiter);
  void answer_evaluation(Evaluation evaluation, Backward reply);
  void start(const Task& task);
  [[nodiscard]] WeightGradients weight_gradients_of(MicrobatchId microbatch) const;
  void start_evaluation(MicrobatchId microbatch);
  void forward_on(const Forward& forward, TensorBlob activation);
  void finish(Forwarded result);
  void finish(Differentiated result);
  void finish(Accumulated result);
  void finish(Evaluated result);
  void send_progress();
  // replica_orders.cpp: orders of the sync group and the ring.
  [[nodiscard]] bool is_for_this_replica(const OrderId& order) const;
  [[nodiscard]] Verdict judge(const Order& order, OrderKind kind);
  void adopt_epoch(const OrderId& id, OrderKind kind, Phase phase);
  void empty_step(const OrderId& zeroed_by);
  void take_order(const Open& message);
  void take_order(const Zero& message);
  void take_order(const Prepare& message);
  void send_parts(std::vector<AddressedPart> parts);
  void send_questions(std::vector<MissingParts> questions);
  void tell_how_far();
  void send_reduced();
  void send_manifest();
  void adopt_when_complete();
  void finish(Zeroed result);
  void finish(Contributed result);
  void finish(Adopted result);
  // replica_journal.cpp: entries, apply, checkpoints.
  void follow(const AddReplica& entry);
  void follow(const RemoveReplica& entry);
  void follow(const Commit& entry);
  void follow(const AppointGroup&) {}  // epochs alone decide which group is obeyed (P-15, P-21)
  void follow(const FinishRun&) {}     // the supervisor ends processes; there is nothing to do until it does
  void follow(const Quarantine& entry);
  void fetch_journal();
  [[nodiscard]] ReplicaReport report_of_step();
  void send_report();
  void start_next_step();
  void take_waiting_order();
  void finish(Applied result);
  void finish_step();
  void finish(Imaged result);

  // replica_rounds.cpp: sync.mode = diloco.
  template <class AnyOrder>
  [[nodiscard]] bool take_round(const AnyOrder& order);
  [[nodiscard]] bool is_round_for_this_replica(const OrderId& order) const;
  // Its weights are those of no version: of a step that is applied, without the rounds that are due after it.
  [[nodiscard]] bool is_at_boundary() const { return rounds_ && rounds_->is_at_boundary(); }
  void answer(RoundAnswers answers);
  void follow(const CommitRound& entry);
  [[nodiscard]] bool take_question(const FetchState& message);
  void exchange_means();
  void tell_of_means();
  void pursue_rounds();
  void adopt_own(TensorBlob values);
  [[nodiscard]] std::uint64_t own_tokens() const;
  [[nodiscard]] std::optional<UpdateOrder> own_update(const Commit& entry) const;
  void finish(RoundContributed result);
  void finish(RoundApplied result);
  void finish(RestartedFromOuter result);

  // replica_join.cpp: the state it starts with, and what it gives of its own.
  void fetch_state();
  void pursue_copy();
  // A joiner must come to this very state (S-3).
  [[nodiscard]] bool is_compared_with() const { return is_member() && !feeds_.is_empty() && !is_at_boundary(); }
  void feed_joiners(const Commit& entry);
  void give_state(const FetchState& wanted);
  void give_image(Incarnation joiner, TensorBlob image);
  void pass_on(StateProgress progress);
  void refuse_state(Incarnation joiner, const std::string& reason);
  void finish(Loaded result);
  void finish(LoadRefused result);
  void finish(Followed result);

  ReplicaSetup setup_;
  Membership membership_ = Membership::kLoading;
  std::map<Incarnation, std::uint32_t> members_;  // the view: stage of each replica
  Quarantines quarantines_;
  RunEnds ends_;
  JournalPosition position_;
  std::uint64_t version_;
  Phase phase_ = Phase::kOpen;
  Epoch epoch_;
  OrderKind epoch_kind_ = OrderKind::kNone;
  Epoch emptied_;  // no Zero of it or of one before it concerns what is in the ledger (P-16b)
  Ledger ledger_;
  ComputeQueue queue_;
  std::map<MicrobatchId, Evaluation> evaluations_;
  std::map<WaitingKey, Forward> waiting_;
  std::optional<Order> waiting_order_;  // of the next step, or from before the own Add
  std::optional<Prepare> preparing_;    // obeyed as soon as everything answered is accumulated
  std::optional<Reduce> reduce_;        // the order being carried out
  std::unique_ptr<GroupReduction> ring_;
  SumNews ring_news_;
  HeldParts held_parts_{kHeldPartsMax};
  std::optional<Reduced> reduced_;  // what was sent, for its repeats
  std::optional<Commit> applying_;
  ReplicaReport report_;  // of the step that was applied, until its boundary is behind
  bool is_running_ = false;
  Instant job_started_;
  double transfer_ms_ = 0;
  Instant last_sent_;                                    // StageReady or FetchState; or when its state was seen to come
  std::optional<std::uint64_t> ready_version_;           // of the last StageReady
  std::optional<StateCopy> copy_;                        // while it joins a run under way
  StateFeeds feeds_;                                     // joiners that this replica gives its state to
  std::optional<Incarnation> image_for_;                 // the joiner that the image being taken is for
  std::optional<RoundMember> rounds_;                    // sync.mode = diloco
  std::vector<Prepare> waiting_rounds_;                  // from before the own Add
  std::map<Incarnation, FetchState> asked_at_boundary_;  // by joiners, answered after it
  std::uint64_t state_digest_ = 0;
  ReplicaTime time_;
  ReplicaCounters counters_;
  std::uint64_t repeated_this_step_ = 0;
  Instant now_;
  Effects effects_;
};

}  // namespace shoal
