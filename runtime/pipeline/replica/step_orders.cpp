// Judging by step, branch, term and epoch.
#include "runtime/pipeline/replica/step_orders.h"

namespace shoal {
namespace {

const OrderId& id_of(const StepOrders::Order& order) {
  return std::visit([](const auto& any) -> const OrderId& { return any.order; }, order);
}

}  // namespace

StepOrders::Verdict StepOrders::judge(const Order& order, const ReplicaStanding& self) {
  const OrderId& id = id_of(order);
  const bool is_early = id.step.value > self.state.version || !self.is_member();
  if (!self.is_meant_by(id) || (!is_early && id.epoch < self.epoch)) {
    count_stale();
    return Verdict::kIgnore;
  }
  if (is_early) {
    const bool is_newest = !waiting_ || id_of(*waiting_).epoch < id.epoch;
    if (id.step.value <= self.state.version + 1 && is_newest) waiting_ = order;
    return Verdict::kIgnore;
  }
  if (id.epoch > self.epoch) return Verdict::kObey;
  return kind_ == static_cast<Kind>(order.index()) ? Verdict::kRepeat : Verdict::kIgnore;
}

void StepOrders::enter(const OrderId& order, Kind kind, const Epoch& left) {
  if (left == Epoch{}) emptied_ = order.epoch;  // a Zero follows manifests of all members: none came to a joiner yet
  kind_ = kind;
}

void StepOrders::end_step(const Epoch& epoch) {
  kind_.reset();
  emptied_ = epoch;
}

}  // namespace shoal
