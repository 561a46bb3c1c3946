// Keeps a search small, and hides no run: messages that nobody can act upon any more are dropped; orders in force,
// votes, manifests, parts, questions and means are repeated, as their senders do; entries that change nothing for their
// reader are read; a member off the boundary trains.
#include <algorithm>

#include "tests/protocol/rounds/rounds_moves.h"

namespace shoal::protocol::rounds {
namespace {

constexpr const char* kUnapplied = "S-3: a member trains before a round that is due is applied";

bool is_wanted(const RoundsModel& model, const Replica& replica, const Message& message) {
  if (replica.is_alive == 0) return false;
  const Part& part = replica.rounds[message.round];
  if (part.phase > kSummed) return false;
  if (message.kind == Kind::kPrepare) return message.epoch > part.epoch;
  const bool is_summed = part.phase == kSummed && message.epoch <= part.epoch;
  return !is_summed && (message.epoch >= part.epoch || (message.kind == Kind::kPart && !model.rules.round_part_epoch));
}

bool is_dead(const RoundsModel& model, const State& state, const View& view, const Message& message) {
  const bool is_of_member = message.kind == Kind::kManifest || message.kind == Kind::kPart ||
                            message.kind == Kind::kReduced || message.kind == Kind::kFetch ||
                            message.kind == Kind::kMean;
  const int stage = is_of_member ? stage_of(message.from) : message.from;
  const Group& group = state.groups[stage];
  const GroupRound& round = group.rounds[message.round];
  const bool is_in_force = group.is_on != 0 && group.epoch_of(message.round) == message.epoch;
  switch (message.kind) {
    case Kind::kManifest: return !is_in_force || round.phase != kPreparing;
    case Kind::kReduced: return !is_in_force || (round.phase != kReducing && round.phase != kPreparing);
    case Kind::kFetch: return state.replicas[message.from].rounds[message.round].phase != kMissed;
    case Kind::kMean: return state.replicas[message.to].rounds[message.round].phase > kMissed;
    case Kind::kVote: {
      if (is_in(view.recorded[stage], message.round) && model.rules.round_once) return true;
      if (model.rules.round_vote_inst && message.epoch >> kCounterBits != view.groups[stage]) return true;
      return model.rules.round_position && message.position < view.changed[stage];
    }
    default: break;
  }
  for (int r = first_of(stage); r < first_of(stage + 1); ++r) {
    if (is_wanted(model, state.replicas[r], message)) return false;
  }
  return true;
}

bool is_harmless(const Entry& entry, int r) {
  switch (entry.kind) {
    case EntryKind::kCommit: return false;
    case EntryKind::kRound: return entry.stage != stage_of(r);
    case EntryKind::kRemove: return stage_of(entry.subject) != stage_of(r);
    case EntryKind::kAdd: return entry.subject != r;
    default: return true;
  }
}

bool read_harmless(State& state) {
  bool has_read = false;
  for (int r = 0; r < kReplicas; ++r) {
    Replica& replica = state.replicas[r];
    while (replica.is_alive != 0 && replica.position < state.log_size && is_harmless(state.log[replica.position], r)) {
      ++replica.position;
      has_read = true;
    }
  }
  for (int stage = 0; stage < kStages; ++stage) {
    Group& group = state.groups[stage];
    while (group.is_on != 0 && group.position < state.log_size) {
      const Entry& entry = state.log[group.position];
      const bool is_own = entry.stage == stage && entry.kind != EntryKind::kCommit;
      if (is_own || entry.kind == EntryKind::kCommit) break;
      ++group.position;
      has_read = true;
    }
  }
  return has_read;
}

bool repeat_orders(State& state) {
  bool has_added = false;
  for (int stage = 0; stage < kStages; ++stage) {
    const Group& group = state.groups[stage];
    for (int n = 1; n <= kRoundsMax && group.is_on != 0; ++n) {
      const GroupRound& round = group.rounds[n];
      const Byte from = byte(stage), number = byte(n), epoch = byte(group.epoch_of(n));
      if (round.phase == kPreparing) has_added |= state.add({Kind::kPrepare, from, 0, number, epoch, 0, 0, 0});
      if (round.phase == kReducing) {
        has_added |= state.add({Kind::kReduce, from, 0, number, epoch, round.members, 0, 0});
      }
      if (round.phase == kVoted) {
        has_added |= state.add({Kind::kVote, from, 0, number, epoch, round.members, 0, round.began_at});
      }
    }
  }
  return has_added;
}

// P-15: an order in force is answered again.
bool answer_orders(State& state, int r, bool with_parts) {
  bool has_added = false;
  const Replica& replica = state.replicas[r];
  const int first = first_of(stage_of(r));
  for (int n = 1; n <= kRoundsMax; ++n) {
    const Part& part = replica.rounds[n];
    const Byte from = byte(r), number = byte(n);
    if (part.phase == kMissed && part.asked != r) {
      has_added |= state.add({Kind::kFetch, from, part.asked, number, 0, 0, 0, 0});
    }
    if ((part.phase != kContributed && part.phase != kSummed) || part.epoch == 0) continue;
    const Message prepare{Kind::kPrepare, byte(stage_of(r)), 0, number, part.epoch, 0, 0, 0};
    const bool is_asked = state.has(prepare) || state.groups[stage_of(r)].epoch_of(n) == part.epoch;
    if (is_asked) has_added |= state.add({Kind::kManifest, from, 0, number, part.epoch, 0, part.tokens, 0});
    for (int k = 0; k < state.message_count; ++k) {
      const Message order = state.messages[k];
      const bool is_for_it = order.kind == Kind::kReduce && order.from == stage_of(r) && order.round == n &&
                             order.epoch == part.epoch && is_in(order.members, r - first);
      if (!is_for_it) continue;
      if (with_parts) has_added |= state.add({Kind::kPart, from, 0, number, part.epoch, 0, 0, 0});
      if (part.phase == kSummed) has_added |= state.add({Kind::kReduced, from, 0, number, part.epoch, 0, 0, 0});
    }
  }
  return has_added;
}

// P-34: whoever holds the mean of a round that is an entry gives it.
bool give_means(State& state) {
  for (int k = 0; k < state.message_count; ++k) {
    const Message question = state.messages[k];
    if (question.kind != Kind::kFetch || state.replicas[question.to].is_alive == 0) continue;
    const Replica& holder = state.replicas[question.to];
    const bool has_it = holder.rounds[question.round].phase == kAgreed || is_in(holder.kept, question.round);
    if (!has_it) continue;
    for (int i = 0; i < state.log_size; ++i) {
      const Entry& entry = state.log[i];
      const bool is_it =
          entry.kind == EntryKind::kRound && entry.subject == question.round && entry.stage == stage_of(question.to);
      if (!is_it) continue;
      const Message mean{Kind::kMean, question.to, question.from, question.round, entry.epoch, entry.members, 0, 0};
      if (state.add(mean)) return true;
    }
  }
  return false;
}

}  // namespace

void RoundsMoves::settle(State& next, bool with_parts) const {
  const auto drop_dead = [&] {
    const View view = view_at(next, next.log_size);
    int kept = 0;
    for (int k = 0; k < next.message_count; ++k) {
      if (!is_dead(model_, next, view, next.messages[k])) next.messages[kept++] = next.messages[k];
    }
    next.message_count = byte(kept);
  };
  drop_dead();
  for (bool has_more = true; has_more;) {
    has_more = read_harmless(next);
    has_more |= repeat_orders(next);
    for (int r = 0; r < kReplicas; ++r) {
      if (next.replicas[r].is_alive != 0) has_more |= answer_orders(next, r, with_parts);
    }
    has_more |= give_means(next);
  }
  drop_dead();
}

void RoundsMoves::move(State& next, const std::string& story) {
  for (Replica& replica : next.replicas) {
    const bool may_train = replica.is_at_boundary == 0 || !rules_.boundary_first;
    if (replica.is_member == 0 || replica.has_trained != 0 || !may_train) continue;
    if (replica.version >= model_.scope.steps) continue;
    replica.has_trained = 1;
    for (int round = 1; round <= replica.version; ++round) {
      if (model_.is_due(round, replica.version) && replica.rounds[round].phase != kOver) break_property(kUnapplied);
    }
  }
  settle(next, rules_.round_part_epoch);  // without that rule a part may come later than those of older epochs
  sink_.take(next, broken_, story);
  broken_ = nullptr;
}

}  // namespace shoal::protocol::rounds
