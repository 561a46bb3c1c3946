// Letters: P-5, P-6, P-7, P-8, P-10, P-13a, P-15, P-16b, P-18, P-25, P-25a.
#include <algorithm>
#include <utility>

#include "tests/protocol/observed/replica_rules.h"

namespace shoal::observed {
namespace {

template <class Value>
void add_once(std::vector<Value>& values, const Value& value) {
  if (std::ranges::find(values, value) == values.end()) values.push_back(value);
}

Asked asked_by(const Letter& letter) {
  const Cause& cause = letter.cause;
  return {cause.branch, cause.term, cause.position, cause.step, cause.microbatch.value, letter.from};
}

// P-10: the sender is who served that stage in its process where it stood, and it is a member still.
bool is_known(const Setting& setting, const ReplicaState& state, const Asked& data, StageId stage) {
  const auto sender = setting.journal->at(data.position).member_in(data.from, stage);
  return sender && setting.journal->at(state.position).is_member(*sender, stage);
}

bool is_fenced_in(const Setting& setting, const ReplicaState& state, const Asked& asked) {
  return setting.stage.value == 0 || is_known(setting, state, asked, StageId{setting.stage.value - 1});
}

std::optional<RefusalReason> reason_to_refuse(const Setting& setting, const ReplicaState& state, const Asked& asked) {
  if (!state.is_member) return RefusalReason::kNotMember;
  if (asked.branch != setting.branch) return RefusalReason::kFenced;
  if (asked.step.value < state.version) return RefusalReason::kStepCommitted;
  const bool is_from_loader = asked.from == ProcessIncarnation{} && asked.term >= state.term;
  if (setting.stage.value == 0 && !is_from_loader) return RefusalReason::kFenced;
  if (!is_fenced_in(setting, state, asked) && asked.position <= state.position) return RefusalReason::kFenced;
  if (asked.microbatch >= setting.microbatches) return RefusalReason::kBusy;
  return std::nullopt;
}

void refuse(ReplicaState& state, const Asked& asked, RefusalReason reason) {
  add_once(state.said.refusals, Refused{asked.step, asked.microbatch, reason});
}

// P-5, P-6. False: it is dropped, because the microbatch was quarantined.
bool take_forward(const Setting& setting, ReplicaState& state, const Asked& asked) {
  if (setting.journal->at(state.position).left_out.contains({asked.step, asked.microbatch})) return false;
  if (const auto reason = reason_to_refuse(setting, state, asked)) {
    refuse(state, asked, *reason);
    return true;
  }
  const bool waits = asked.step.value > state.version || !is_fenced_in(setting, state, asked);
  if (asked.step.value > state.version + 1) {
    refuse(state, asked, RefusalReason::kStepNotReached);
  } else if (waits) {
    add_once(state.waiting, asked);
  } else {
    const Microbatches bit = Microbatches::of(asked.microbatch);
    const bool is_new = ((state.ledger.in_flight | state.ledger.answered) & bit).empty();
    const bool is_left_to_another = !(state.ledger.in_flight & bit).empty() && state.sum.phase == Phase::kReduced;
    if ((is_new && state.sum.phase != Phase::kOpen) || is_left_to_another) refuse(state, asked, RefusalReason::kFrozen);
    if (is_new && state.sum.phase == Phase::kOpen) state.ledger.in_flight |= bit;
  }
  return true;
}

// P-7: one answer is kept until it is used; what cannot be used is dropped, and the trace shows that.
std::vector<Heard> hear_backward(const Setting& setting, ReplicaState state, const Letter& letter) {
  const Asked answer = asked_by(letter);
  const Microbatches bit = Microbatches::of(answer.microbatch);
  const bool is_of_its_step =
      state.is_member && !setting.is_last && answer.branch == setting.branch && answer.step.value == state.version;
  const bool is_believed = is_known(setting, state, answer, StageId{setting.stage.value + 1});
  const bool is_awaited = !((state.ledger.in_flight - state.ledger.arrived) & bit).empty();
  if (!is_of_its_step || !is_believed || !is_awaited) return {{std::move(state), Shows::kDrop}};
  state.ledger.arrived |= bit;
  return {{std::move(state), Shows::kNothing}};
}

// P-13a. What is answered otherwise shows in nothing that this replica does later.
std::vector<Heard> hear_ask(const Setting& setting, ReplicaState state, const Letter& letter) {
  const Asked asked = asked_by(letter);
  const bool is_behind = asked.step.value < state.version;
  if (!state.is_member || asked.branch != setting.branch || is_behind) {
    const bool is_committed = state.is_member && is_behind;
    refuse(state, asked, is_committed ? RefusalReason::kStepCommitted : RefusalReason::kNotMember);
  }
  return {{std::move(state), Shows::kNothing}};
}

bool is_for(const Setting& setting, const ReplicaState& state, const Order& order) {
  return order.branch == setting.branch && order.term >= state.term && order.step.value >= state.version;
}

// P-15: nothing of an older epoch counts from here on.
void adopt(ReplicaState& state, const Order& order, Phase phase) {
  SumState& sum = state.sum;
  state.term = std::max(state.term, order.term);
  const bool has_held = sum.held_epoch == order.name.epoch;
  if (sum.epoch == Epoch{}) sum.emptied = order.name.epoch;
  sum.epoch = order.name.epoch;
  sum.order = order.kind;
  sum.phase = phase;
  sum.has_reduce = false;
  sum.needs_parts = false;
  sum.parts = has_held ? sum.held_parts : 0;
}

void empty(ReplicaState& state, const Order& order) {
  state.ledger = {};
  state.sum.emptied = order.name.epoch;
}

void give_manifest(ReplicaState& state) {
  add_once(state.said.manifests, Given{StepId{state.version}, state.sum.epoch, state.ledger.answered});
}

// P-8, P-16a, P-16b: a manifest names what is in the accumulators, all of it and nothing from before the last Zero.
std::vector<Heard> obey_prepare(ReplicaState state, const Order& order) {
  const bool missed_zero = state.sum.emptied < order.name.last_zero;
  if (missed_zero) empty(state, order);
  if (!state.ledger.owed.empty()) return {};
  adopt(state, order, Phase::kFrozen);
  give_manifest(state);
  return {{std::move(state), missed_zero ? Shows::kZeroing : Shows::kNothing}};
}

std::vector<Heard> obey(ReplicaState state, const Order& order) {
  if (order.kind == OrderKind::kPrepare) return obey_prepare(std::move(state), order);
  adopt(state, order, Phase::kOpen);
  if (order.kind == OrderKind::kOpen) return {{std::move(state), Shows::kNothing}};
  empty(state, order);
  return {{std::move(state), Shows::kZeroing}};
}

// Keeps the newest for its step (P-25a).
ReplicaState with_early(ReplicaState state, const Order& order) {
  const bool is_newest = !state.early || state.early->name.epoch < order.name.epoch;
  if (order.step.value <= state.version + 1 && is_newest) state.early = order;
  return state;
}

// P-15. A replica that still loads turns away what one that is ready lets wait.
std::vector<Heard> hear_order(const Setting& setting, ReplicaState state, const Order& order) {
  if (!state.is_member) return {{with_early(state, order), Shows::kNothing}, {state, Shows::kDrop}};
  const bool is_early = order.step.value > state.version;
  if (!is_for(setting, state, order) || (!is_early && order.name.epoch < state.sum.epoch)) {
    return {{std::move(state), Shows::kDrop}};
  }
  if (is_early) return {{with_early(std::move(state), order), Shows::kNothing}};
  if (order.name.epoch > state.sum.epoch) return obey(std::move(state), order);
  const bool is_repeat = state.sum.order == order.kind;
  if (is_repeat && order.kind == OrderKind::kPrepare) give_manifest(state);
  return {{std::move(state), Shows::kNothing}};
}

// P-18: only of the Prepare in force.
std::vector<Heard> hear_reduce(const Setting& setting, ReplicaState state, const Order& order) {
  const bool is_expected = state.is_member && is_for(setting, state, order) && order.step.value == state.version &&
                           order.name.epoch == state.sum.epoch && state.sum.order == OrderKind::kPrepare;
  if (!is_expected) return {{std::move(state), Shows::kDrop}};
  if (state.sum.has_reduce) return {{std::move(state), Shows::kNothing}};
  state.sum.has_reduce = true;
  state.sum.needs_parts = order.name.members > 1 && !setting.has_rounds;
  add_once(state.said.contributions, Given{StepId{state.version}, state.sum.epoch});
  return {{std::move(state), Shows::kContribution}};
}

// P-15, P-18a: parts of an order that is not here yet are held, those of the highest epoch only.
std::vector<Heard> hear_part(const Setting& setting, ReplicaState state, const Order& order) {
  SumState& sum = state.sum;
  const Epoch& epoch = order.name.epoch;
  const bool is_current =
      state.is_member && is_for(setting, state, order) && order.step.value == state.version && epoch >= sum.epoch;
  if (!is_current) return {{std::move(state), Shows::kDrop}};
  if (epoch == sum.epoch) {
    ++sum.parts;
  } else if (epoch == sum.held_epoch) {
    ++sum.held_parts;
  } else if (epoch > sum.held_epoch) {
    sum.held_epoch = epoch;
    sum.held_parts = 1;
  }
  return {{std::move(state), Shows::kNothing}};
}

OrderKind order_kind_of(Kind kind) {
  switch (kind) {
    case Kind::kOpen: return OrderKind::kOpen;
    case Kind::kZero: return OrderKind::kZero;
    case Kind::kPrepare: return OrderKind::kPrepare;
    default: return OrderKind::kNone;
  }
}

}  // namespace

std::vector<Heard> hear(const Setting& setting, const ReplicaState& state, const Letter& letter) {
  if (letter.is_evaluation || letter.round) return {{state, Shows::kNothing}, {state, Shows::kDrop}};
  if (letter.kind == Kind::kForward) {
    Heard heard{state, Shows::kNothing};
    if (!take_forward(setting, heard.state, asked_by(letter))) heard.shows = Shows::kDrop;
    return {std::move(heard)};
  }
  if (letter.kind == Kind::kBackward) return hear_backward(setting, state, letter);
  if (letter.kind == Kind::kAsk) return hear_ask(setting, state, letter);
  std::vector<Heard> all;
  for (const OrderName& name : letter.orders) {
    const Order order{order_kind_of(letter.kind), letter.cause.branch, letter.cause.term, letter.cause.step, name};
    auto some = letter.kind == Kind::kReduce ? hear_reduce(setting, state, order)
                : letter.kind == Kind::kPart ? hear_part(setting, state, order)
                                             : hear_order(setting, state, order);
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

bool is_early_order_due(const ReplicaState& state) {
  return state.is_member && state.early && state.early->step.value <= state.version;
}

std::vector<Heard> hear_early_order(const Setting& setting, const ReplicaState& state) {
  ReplicaState next = state;
  const Order order = *std::exchange(next.early, std::nullopt);
  auto all = hear_order(setting, std::move(next), order);
  for (Heard& heard : all) {
    if (heard.shows != Shows::kDrop) continue;
    heard.shows = Shows::kNothing;
    heard.state.owed.is_drop = true;
  }
  return all;
}

void readmit_waiting(const Setting& setting, ReplicaState& state) {
  for (const Asked& asked : std::exchange(state.waiting, {})) {
    if (!take_forward(setting, state, asked)) state.owed.is_drop = true;
  }
}

}  // namespace shoal::observed
