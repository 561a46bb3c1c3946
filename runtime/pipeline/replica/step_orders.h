// Which orders of the sync group a replica obeys (P-15, P-16b, P-25a): those of the step in progress with a higher
// epoch than the last one. An equal one is answered again, if it is of the same kind; a lower one is stale. The newest
// one of the next step, or from before the own AddReplica, waits.
//
// Pure: it judges, and is told what came of it.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "messages/sync.h"
#include "runtime/pipeline/replica/replica_standing.h"

namespace shoal {

class StepOrders {
 public:
  enum class Kind : std::uint8_t { kOpen, kZero, kPrepare };  // in the order of Order's alternatives
  enum class Verdict : std::uint8_t { kObey, kRepeat, kIgnore };
  using Order = std::variant<Open, Zero, Prepare>;

  [[nodiscard]] Verdict judge(const Order& order, const ReplicaStanding& self);
  // It is obeyed from here on; `left` is the epoch before it.
  void enter(const OrderId& order, Kind kind, const Epoch& left);
  // The ledger was emptied for this epoch.
  void emptied(const Epoch& epoch) { emptied_ = epoch; }
  // Whatever it has obeyed since (P-16b).
  [[nodiscard]] bool has_missed_a_zero(const Prepare& order) const { return emptied_ < order.last_zero; }
  // The order of the epoch in force asks for a sum.
  [[nodiscard]] bool asks_for_a_sum() const { return kind_ == Kind::kPrepare; }
  // The step is applied; `epoch` is the one in force.
  void end_step(const Epoch& epoch);
  // The order that waited, to be judged again: by the new version, as a member.
  [[nodiscard]] std::optional<Order> take_waiting() { return std::exchange(waiting_, std::nullopt); }

  // Orders and parts of a lower epoch, step, branch or term.
  void count_stale() { ++stale_; }
  [[nodiscard]] std::uint64_t stale() const { return stale_; }

 private:
  std::optional<Kind> kind_;  // of the epoch in force; none: there is no order for this step yet
  Epoch emptied_;             // no Zero of it or of one before it concerns what is in the ledger
  std::optional<Order> waiting_;
  std::uint64_t stale_ = 0;
};

}  // namespace shoal
