// The agreement on a step's sum: P-8, P-15, P-16b, P-18 and P-23.
//
//           Prepare(e)               Reduce(e) and every part of e              Commit whose epoch for this stage is e
//   open ───────────────▶ frozen ──────────────────────────────────▶ reduced ─────────────────────────▶ open, version+1
//    ▲ ▲  Open(e'>e)         │  Open(e'>e): ledger and accumulators stay │
//    │ └─────────────────────┴───────── the sum of e is dropped ─────────┘
//    └─ Zero(e'>e): from any phase; accumulators, ledger and cached replies emptied.   Prepare(e'>e): to frozen
//
// A library makes the sum if the Reduce names a communicator: orders go to its thread, news come back (P-18b). A
// sum that is left before it is whole costs the communicator; one that is whole leaves it to later steps.
//
// With sync.mode = diloco the sum is the member's own (P-31): its accumulators over its own tokens, clipped by its own
// norm. Bounded (S-6): one sum, and parts that came before their Reduce by kHeldPartsMax.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "messages/journal.h"
#include "runtime/pipeline/replica/stage_agreement.h"
#include "runtime/pipeline/replica/step_orders.h"
#include "runtime/pipeline/replica_fill.h"
#include "runtime/sync/collective/collective_reduction.h"
#include "runtime/sync/sum_progress.h"

namespace shoal {

class StepAgreement final : public StageAgreement {
 public:
  void hear(const Open& order, ReplicaTurn& turn);
  void hear(const Zero& order, ReplicaTurn& turn);
  void hear(const Prepare& order, ReplicaTurn& turn) override;
  void hear(const Reduce& order, ReplicaTurn& turn) override;
  void hear(const Part& part, ReplicaTurn& turn) override;
  void hear(const PartsSent& mark, ReplicaTurn& turn) override;
  void hear(const MissingParts& question, ReplicaTurn& turn) override;
  void hear(const Progress& arriving, ReplicaTurn& turn) override;
  // The journal.
  void hear(const Commit& entry, ReplicaTurn& turn);
  void hear(const AppointGroup&, ReplicaTurn&) {}  // epochs alone decide which group is obeyed (P-15, P-21)
  // Facts.
  void hear(const PrepareAgain& fact, ReplicaTurn& turn) { hear(fact.order, turn); }
  void hear(const ManifestMade& fact, ReplicaTurn& turn);
  void hear(const StepEnded& fact, ReplicaTurn& turn);
  void hear(const NextStep&, ReplicaTurn& turn) { take_waiting(turn); }
  void hear(const ReplicaAdmitted&, ReplicaTurn& turn) { take_waiting(turn); }
  // Jobs.
  void hear(const Contributed& result, ReplicaTurn& turn);
  void hear(const Adopted& result, ReplicaTurn& turn);
  // The thread of the communicator.
  void hear(const CollectiveEvent& event, ReplicaTurn& turn);

  [[nodiscard]] std::uint64_t stale_orders() const { return orders_.stale(); }
  // Parts kept for a sum that has not begun here.
  [[nodiscard]] std::size_t early_parts() const { return early_.size(); }

 private:
  void enter(const OrderId& order, StepOrders::Kind kind, Phase phase, ReplicaTurn& turn);
  void drop_sum(ReplicaTurn& turn);
  void begin_sum(TensorBlob contribution, ReplicaTurn& turn);
  void hand_in(ReplicaTurn& turn);
  void hear_news(const CollectiveIdMade& made, ReplicaTurn& turn);
  void hear_news(const CollectiveSummed& summed, ReplicaTurn& turn);
  void hear_news(const CollectiveFailed& failed, ReplicaTurn& turn);
  void send_manifest(const OrderId& order, ReplicaTurn& turn) const;
  [[nodiscard]] Manifest manifest_of(const OrderId& order, const ReplicaSetup& setup) const;
  void take_waiting(ReplicaTurn& turn);
  void tell_how_far(ReplicaTurn& turn);
  void adopt_when_complete(ReplicaTurn& turn) const;
  [[nodiscard]] std::uint64_t own_tokens() const;
  [[nodiscard]] std::optional<UpdateOrder> update_of(const Commit& entry, const ReplicaSetup& setup) const;

  StepOrders orders_;
  std::vector<ManifestEntry> manifest_;  // as it was given: nothing is accumulated behind it (P-8)
  std::vector<MicrobatchId> in_flight_;  // likewise
  std::optional<Reduce> reduce_;         // the order being carried out
  std::unique_ptr<GroupReduction> sum_;
  CollectiveReduction* collective_ = nullptr;  // sum_, where a library makes it
  Epoch communicator_;                         // that this member holds; 0.0: none
  std::uint32_t communicator_size_ = 0;
  bool offers_none_ = false;         // its process makes no communicator any more,
  std::string offers_none_because_;  // for this reason
  SumProgress news_;
  HeldParts early_{kHeldPartsMax};
  std::optional<Reduced> reduced_;  // what was sent, for its repeats
};

}  // namespace shoal
