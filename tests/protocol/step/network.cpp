// The two fixed points of network.h: what is dead, and what is answered.
#include "tests/protocol/step/network.h"

#include <array>

namespace shoal::protocol {
namespace {

// Tells if a replica may still act upon a message of this step: it has not applied it yet.
bool awaits(const Replica& replica, int step) {
  return replica.is_alive && (replica.version == kNoVersion || step >= replica.version);
}

// A joiner may be a member at a later position; a replica of the start that is no member is none for ever.
bool is_cut_off(const StepModel& model, const State& state, int position, int sender) {
  return model.rules.fence && sender != kLoader && !is_joiner(sender) && !is_in(state.members_at(position), sender);
}

bool is_forward_dead(const StepModel& model, const State& state, Message message) {
  const Replica& to = state.replicas[message.to()];
  if (!to.is_alive || is_cut_off(model, state, to.position, message.from())) return true;
  return model.rules.version_check && !awaits(to, message.step());
}

bool is_reply_dead(const StepModel& model, const State& state, Message message) {
  if (message.to() == kLoader) {
    const int position = state.loader.position;
    return message.step() < state.commits_at(position) || is_cut_off(model, state, position, message.from());
  }
  const Replica& to = state.replicas[message.to()];
  return !awaits(to, message.step()) || is_cut_off(model, state, to.position, message.from());
}

bool is_hint_dead(const State& state, Message message) {
  for (const Group& group : state.groups) {
    if (group.is_on && message.step() >= state.commits_at(group.position)) return false;
  }
  return true;
}

bool is_answer_dead(const State& state, Message message) {
  return !state.loader.is_asking || message.step() < state.commits_at(state.loader.position);
}

bool is_missing_dead(const State& state, Message message) {
  if (message.stage() == 0) return message.step() < state.commits_at(state.loader.position);
  for (int r = first_of(message.stage() - 1); r < first_of(message.stage()); ++r) {
    if (awaits(state.replicas[r], message.step())) return false;
  }
  return true;
}

// A manifest or a digest counts for the epoch in force alone.
bool is_report_dead(const StepModel& model, const State& state, Message message) {
  if (!model.rules.inst_durable) return false;
  for (int g = stage_of(message.from()); g < 2 * kStages; g += kStages) {
    const Group& group = state.groups[g];
    const bool is_expected =
        group.phase == kPreparing || (group.phase == kReducing && message.kind() == Kind::kReduced);
    if (group.is_on && message.epoch() == group.epoch() && is_expected) return false;
  }
  return true;
}

bool is_order_dead(const StepModel& model, const State& state, Message message) {
  for (int r = first_of(message.stage()); r < first_of(message.stage() + 1); ++r) {
    const Replica& replica = state.replicas[r];
    if (awaits(replica, message.step()) && (!model.rules.epoch_order || replica.epoch <= message.epoch())) return false;
  }
  return true;
}

bool is_part_dead(const StepModel& model, const State& state, Message message) {
  const int stage = stage_of(message.from());
  for (int r = first_of(stage); r < first_of(stage + 1); ++r) {
    const Replica& replica = state.replicas[r];
    const bool is_wanted = !model.rules.epoch_order || !model.rules.part_epoch || replica.epoch < message.epoch() ||
                           (replica.epoch == message.epoch() && replica.phase != kReduced);
    if (awaits(replica, message.step()) && is_wanted) return false;
  }
  return true;
}

bool is_vote_dead(const StepModel& model, const State& state, Message message) {
  if (message.step() < state.commits()) return true;
  const int incarnation = message.epoch() >> kCounterBits;
  if (model.rules.vote_inst && incarnation != state.incarnations[message.stage()]) return true;
  return model.rules.vote_view && model.is_overtaken(state, message);
}

bool is_dead(const StepModel& model, const State& state, Message message) {
  switch (message.kind()) {
    case Kind::kForward: return is_forward_dead(model, state, message);
    case Kind::kRefusal:
    case Kind::kReply: return is_reply_dead(model, state, message);
    case Kind::kAllAnswered: return is_hint_dead(state, message);
    case Kind::kAskHolders: return message.step() < state.commits_at(state.groups[message.stage()].position);
    case Kind::kHolders: return is_answer_dead(state, message);
    case Kind::kMissing: return is_missing_dead(state, message);
    case Kind::kManifest:
    case Kind::kReduced: return is_report_dead(model, state, message);
    case Kind::kPrepare:
    case Kind::kOpen:
    case Kind::kZero:
    case Kind::kReduce: return is_order_dead(model, state, message);
    case Kind::kPart: return is_part_dead(model, state, message);
    case Kind::kVote: return is_vote_dead(model, state, message);
  }
  return false;
}

// Entries of the journal that change nothing for their reader, or only let it do more.
bool read_harmless_entries(State& state) {
  bool has_read = false;
  for (int r = 0; r < kReplicas; ++r) {
    Replica& replica = state.replicas[r];
    if (!replica.is_alive || replica.position >= state.log_size) continue;
    const Entry entry = state.log[replica.position];
    const bool is_neighbour_gone = entry.is_removal() && entry.changes(stage_of(r)) && entry.replica() != r;
    if (!entry.is_addition() && !is_neighbour_gone) continue;
    ++replica.position;
    has_read = true;
  }
  if (state.loader.position < state.log_size) {
    const Entry entry = state.log[state.loader.position];
    if (entry.is_addition() || (entry.is_removal() && !entry.changes(0))) {
      ++state.loader.position;
      has_read = true;
    }
  }
  for (int stage = 0; stage < kStages; ++stage) {
    Group& group = state.groups[stage];
    if (!group.is_on || group.position >= state.log_size) continue;
    const Entry entry = state.log[group.position];
    if (entry.changes(stage)) continue;
    ++group.position;
    if (entry.is_commit()) group.begin_step();
    has_read = true;
  }
  return has_read;
}

// P-6, P-8: a reply from the cache; a refusal of what a frozen replica has not.
bool answer_forward(const StepModel& model, State& state, Message message) {
  const Replica& replica = state.replicas[message.to()];
  const int b = message.microbatch(), step = message.step();
  if (!replica.is_alive || replica.version == kNoVersion) return false;
  const bool is_fenced = message.from() != kLoader && !is_in(state.members_at(replica.position), message.from());
  if (model.rules.fence && is_fenced) return false;
  const bool is_late = step != replica.version;
  if (is_late && (model.rules.version_check || step + 1 != replica.version)) return false;
  if (is_in(state.left_out_at(replica.position), b)) return false;
  if (replica.ledger[b] == kAccumulated) {
    return state.add(reply(message.to(), message.from(), {step, b, message.is_stale() || is_late}));
  }
  const bool is_frozen = model.rules.freeze && replica.phase != kOpen && replica.ledger[b] == kNone;
  return is_frozen && state.add(refusal(message.to(), message.from(), {step, b, false}));
}

// A frozen replica's manifest and part, a reduced one's digest.
bool answer_order(const StepModel& model, State& state, Message order) {
  if (!model.rules.freeze) return false;
  for (int r = first_of(order.stage()); r < first_of(order.stage() + 1); ++r) {
    const Replica& replica = state.replicas[r];
    const int step = order.step(), epoch = order.epoch();
    if (!replica.is_alive || replica.version != step || replica.epoch != epoch || replica.phase == kOpen) continue;
    if (order.kind() == Kind::kPrepare) {
      if (replica.phase == kFrozen && state.add(manifest(r, step, epoch, replica.manifest()))) return true;
    } else if (is_in(order.reduced_members(), r % kReplicasPerStage)) {
      if (state.add(replica.phase == kFrozen ? part_of(state, r) : reduced(r, step, epoch))) return true;
    }
  }
  return false;
}

bool answer_one(const StepModel& model, State& state) {
  for (int k = 0; k < state.message_count; ++k) {
    const Message message = state.message(k);
    if (message.kind() == Kind::kForward && answer_forward(model, state, message)) return true;
    const bool is_order = message.kind() == Kind::kPrepare || message.kind() == Kind::kReduce;
    if (is_order && answer_order(model, state, message)) return true;
  }
  return false;
}

// P-17: while the group is open.
bool ask_for_missing(const StepModel& model, State& state, int g) {
  const Group& group = state.groups[g];
  bool has_added = false;
  for (int b = 0; b < model.scope.microbatches; ++b) {
    const bool is_asked_for = is_in(group.missing, b) && (group.phase == kOpened || group.phase == kZeroed);
    if (is_asked_for) has_added |= state.add(missing(g % kStages, state.commits_at(group.position), b));
  }
  return has_added;
}

bool repeat_hints_and_orders(const StepModel& model, State& state) {
  bool has_added = false;
  const int loader_step = state.commits_at(state.loader.position);
  const int plan = model.plan_at(state, state.loader.position);
  if ((state.loader.answered & plan) == plan && loader_step < model.scope.steps) {
    has_added = state.add(all_answered(loader_step));
  }
  for (int g = 0; g < 2 * kStages; ++g) {
    if (!state.groups[g].is_on || state.commits_at(state.groups[g].position) >= model.scope.steps) continue;
    if (const auto order = order_of(state, g)) has_added |= state.add(*order);
    has_added |= ask_for_missing(model, state, g);
    if (state.groups[g].phase == kVoted) has_added |= state.add(vote_of(state, g));
  }
  return has_added;
}

}  // namespace

void drop_dead_messages(const StepModel& model, State& state) {
  int kept = 0;
  for (int k = 0; k < state.message_count; ++k) {
    if (!is_dead(model, state, state.message(k))) state.messages[kept++] = state.messages[k];
  }
  state.message_count = byte(kept);
}

void answer_at_once(const StepModel& model, State& state) {
  for (bool has_more = true; has_more;) {
    has_more = repeat_hints_and_orders(model, state);
    if (model.is_eager) {
      has_more |= read_harmless_entries(state);
      if (has_more) continue;
    }
    has_more |= answer_one(model, state);
  }
}

void forget_old_zeros(State& state) {
  for (int stage = 0; stage < kStages; ++stage) {
    bool is_named = state.groups[stage].last_zero != 0 || state.groups[stage + kStages].last_zero != 0;
    for (int k = 0; k < state.message_count && !is_named; ++k) {
      const Message message = state.message(k);
      is_named = message.kind() == Kind::kPrepare && message.stage() == stage && message.last_zero() != 0;
    }
    for (int r = first_of(stage); r < first_of(stage + 1) && !is_named; ++r) state.replicas[r].emptied = 0;
  }
}

}  // namespace shoal::protocol
