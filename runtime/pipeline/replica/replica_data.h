// The conversation along the pipeline, as one replica holds it (P-5 .. P-11, P-16a, P-17a, P-20a): what came is
// refused, waits, is computed, and is answered; what is answered is accumulated once (S-1).
//
// It works while the step is open and the replica a member. A Prepare that finds something answered and not yet
// accumulated waits for it; the manifest is made then. Bounded (S-6) by a step's microbatches and by the bounds of
// replica_fill.h.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "messages/journal.h"
#include "messages/pipeline.h"
#include "messages/sync.h"
#include "runtime/base/clock.h"
#include "runtime/journal/quarantines.h"
#include "runtime/pipeline/compute_queue.h"
#include "runtime/pipeline/ledger.h"
#include "runtime/pipeline/replica/early_forwards.h"
#include "runtime/pipeline/replica/evaluations.h"
#include "runtime/pipeline/replica/replica_turn.h"
#include "runtime/pipeline/replica_fill.h"

namespace shoal {

class ReplicaData {
 public:
  // While more is answered, and always some is in flight: well within the time after which a group looks by itself.
  static constexpr Duration kTellEvery = std::chrono::minutes(1);

  explicit ReplicaData(const ReplicaSetup& setup);

  // Messages.
  void hear(const Forward& message, ReplicaTurn& turn);
  void hear(const Backward& message, ReplicaTurn& turn);
  void hear(const Ask& message, ReplicaTurn& turn);
  // Passes what this replica can give again on to its router, which kept the activations (P-17).
  void hear(const Missing& message, ReplicaTurn& turn);
  // The journal.
  void hear(const View& past, ReplicaTurn& turn);
  void hear(const Quarantine& entry, ReplicaTurn& turn);
  void hear(const JournalEntry& entry, ReplicaTurn& turn);  // behind what its body brought about
  // Facts.
  void hear(const StepOpened& fact, ReplicaTurn& turn);
  void hear(const StepZeroed& fact, ReplicaTurn& turn);
  void hear(const ProgressWanted& fact, ReplicaTurn& turn);
  void hear(const FreezeWanted& fact, ReplicaTurn& turn);
  void hear(const StepApplied& fact, ReplicaTurn& turn);
  void hear(const StepEnded& fact, ReplicaTurn& turn);
  void hear(const NextStep& fact, ReplicaTurn& turn);
  // Jobs.
  void hear(const Forwarded& result, ReplicaTurn& turn);
  void hear(const Differentiated& result, ReplicaTurn& turn);
  void hear(const Accumulated& result, ReplicaTurn& turn);
  void hear(const Evaluated& result, ReplicaTurn& turn);
  void hear(const Zeroed&, ReplicaTurn&) {}

  [[nodiscard]] bool has_task(const ReplicaStanding& self) const;
  void run_next(ReplicaTurn& turn);
  // The tensor of the next Forward or Backward was on its way for so long.
  void transfer_timed(double transfer_ms) { transfer_ms_ += transfer_ms; }
  [[nodiscard]] std::vector<ManifestEntry> manifest() const { return ledger_.manifest(); }
  // Answers that the ledger or the fence turned away, and Forwards of what is quarantined.
  [[nodiscard]] std::uint64_t dropped_answers() const { return dropped_; }
  [[nodiscard]] ReplicaFill fill() const;

 private:
  void take(const Forward& message, const Arrival& arrival, ReplicaTurn& turn);
  void take(const Backward& message, ReplicaTurn& turn);
  [[nodiscard]] std::optional<RefusalReason> reason_to_refuse(const Forward& message,
                                                              const ReplicaStanding& self) const;
  void hold_early(const Forward& message, const Arrival& arrival, ReplicaTurn& turn);
  void readmit(ReplicaTurn& turn);
  void give_reply(LedgerEntry& entry, const Waiter& waiter, ReplicaTurn& turn);
  void start(const Task& task, ReplicaTurn& turn);
  void empty(const OrderId& zeroed_by, ReplicaTurn& turn);
  void send_progress(ReplicaTurn& turn);

  Ledger ledger_;
  ComputeQueue queue_;
  Evaluations evaluations_;
  EarlyForwards early_;
  Quarantines quarantines_;
  std::optional<Prepare> preparing_;  // obeyed as soon as everything answered is accumulated
  std::optional<Instant> told_at_;    // the group was told how many are answered; none: it was never to be told
  double transfer_ms_ = 0;
  std::uint64_t repeated_this_step_ = 0;
  std::uint64_t dropped_ = 0;
};

}  // namespace shoal
