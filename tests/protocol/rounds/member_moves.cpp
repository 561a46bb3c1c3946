// A member between two steps: it contributes, obeys the orders of rounds, holds means, and applies what is due before
// it begins the next step (P-31, P-32, P-34).
#include "tests/protocol/rounds/rounds_moves.h"

namespace shoal::protocol::rounds {
namespace {

constexpr const char* kOtherMean = "S-3: a member applied another mean than the one that the journal names";
constexpr const char* kWithoutMean = "S-3: a member goes on without a mean that the others apply";
constexpr const char* kOtherParts = "P-15: a mean has a part that was made for another epoch";
constexpr const char* kNotHeld = "P-24: the journal names a member that lives and has no such mean";
constexpr const char* kDrained = "P-28a: a member that stays loses its state because another one left";

std::string named(int r) { return std::string(stage_of(r) == 0 ? "a" : "b") + std::to_string(r % kPerStage); }

const Entry* entry_of(const State& state, int stage, int round) {
  for (int i = 0; i < state.log_size; ++i) {
    const Entry& entry = state.log[i];
    if (entry.kind == EntryKind::kRound && entry.stage == stage && entry.subject == round) return &entry;
  }
  return nullptr;
}

}  // namespace

void RoundsMoves::member(int r) {
  const Replica& replica = now_.replicas[r];
  if (replica.is_alive == 0) return;
  if (replica.position < now_.log_size) read(r);
  if (replica.is_member == 0) return;
  for (int k = 0; k < now_.message_count; ++k) {
    const Message& message = now_.messages[k];
    if (message.kind == Kind::kPrepare && message.from == stage_of(r)) obey(r, message);
    if (message.kind == Kind::kReduce && message.from == stage_of(r)) sum(r, message);
    if (message.kind == Kind::kMean && message.to == r) take_mean(r, message);
  }
  if (replica.is_at_boundary != 0) leave_boundary(r);
}

// P-3
void RoundsMoves::read(int r) {
  const Replica& replica = now_.replicas[r];
  const Entry& entry = now_.log[replica.position];
  State next = now_;
  ++next.replicas[r].position;
  if (entry.kind == EntryKind::kAdd && entry.subject == r) {
    next.replicas[r].is_member = 1;
    next.replicas[r].started = replica.version;
  } else if (entry.kind == EntryKind::kRemove) {
    read_removal(next, r, entry.subject);
  } else if (replica.is_member != 0 && entry.kind == EntryKind::kCommit) {
    read_commit(next, r);
  } else if (replica.is_member != 0 && entry.kind == EntryKind::kRound && entry.stage == stage_of(r)) {
    read_round(next, r, entry);
  }
  move(next, named(r) + " reads entry " + std::to_string(replica.position + 1));
}

// P-24, P-31: it applies the step over its own tokens, then takes its contribution, before anything due is applied.
void RoundsMoves::read_commit(State& next, int r) {
  const Replica& replica = now_.replicas[r];
  Replica& after = next.replicas[r];
  if (replica.has_trained == 0 || replica.is_at_boundary != 0) {
    after = Replica{};
    return;
  }
  after.tokens = byte(after.tokens | 1 << replica.version);
  after.has_trained = after.kept = 0;
  const int version = ++after.version;
  Part& own = after.rounds[version];
  if (own.phase == kNone) {
    own.phase = kContributed;
    own.tokens = after.tokens;
    after.tokens = 0;
  }
  for (int round = 1; round <= version; ++round) {
    const bool is_due = model_.is_due(round, version) && after.rounds[round].phase != kOver;
    if (is_due) after.is_at_boundary = 1;
  }
}

void RoundsMoves::read_round(State& next, int r, const Entry& entry) {
  Part& part = next.replicas[r].rounds[entry.subject];
  if (part.phase == kOver) return;
  const bool is_named = is_in(entry.members, r - first_of(entry.stage));
  if (!is_named) {
    if (!rules_.missed_tokens_lost) next.replicas[r].tokens = byte(next.replicas[r].tokens | part.tokens);
    part = {kMissed, 0, 0, 0, byte(r)};
    return ask_next(next, r, entry.subject, r);
  }
  if (part.phase == kSummed && part.epoch == entry.epoch) {
    part.phase = kAgreed;
    part.tokens = 0;
  } else {
    break_property(kNotHeld);
    next.replicas[r] = Replica{};
  }
}

// P-28, P-34
void RoundsMoves::read_removal(State& next, int r, int removed) {
  if (removed == r) {
    next.replicas[r] = Replica{};
    return;
  }
  for (int round = 1; round <= kRoundsMax; ++round) {
    const Part& part = next.replicas[r].rounds[round];
    if (part.phase == kMissed && part.asked == removed && rules_.missed_asks_next) ask_next(next, r, round, removed);
  }
}

// Asks the first of those that the entry names and that are members still, beginning behind the last one asked. If
// there is none, it ends itself.
void RoundsMoves::ask_next(State& next, int r, int round, int left_out) {
  const int stage = stage_of(r), first = first_of(stage);
  const Entry& entry = *entry_of(now_, stage, round);
  const View view = view_at(now_, next.replicas[r].position);
  for (int i = 1; i <= kPerStage; ++i) {
    const int holder = first + (left_out - first + i) % kPerStage;
    if (!is_in(entry.members, holder - first) || !is_in(view.members, holder)) continue;
    next.replicas[r].rounds[round].asked = byte(holder);
    return;
  }
  if (!rules_.missed_ends) return;
  const bool has_failed =
      now_.budget[kCrash] < model_.scope.budget[kCrash] || now_.budget[kSuspect] < model_.scope.budget[kSuspect];
  if (!has_failed) break_property(kDrained);
  next.replicas[r] = Replica{};
}

// P-15, P-31: a higher epoch drops the sum, the contribution stays. Whoever came later answers with no tokens.
void RoundsMoves::obey(int r, const Message& order) {
  const Replica& replica = now_.replicas[r];
  const Part& part = replica.rounds[order.round];
  const bool is_from_before = order.round <= replica.started && part.phase == kNone && rules_.joined_contributes;
  const bool has_contributed = part.phase == kContributed || part.phase == kSummed;
  if ((!has_contributed && !is_from_before) || order.epoch <= part.epoch) return;
  State next = now_;
  Part& after = next.replicas[r].rounds[order.round];
  after.phase = kContributed;
  after.epoch = order.epoch;
  after.members = 0;
  if (is_from_before) after.tokens = rules_.joined_weighs_nothing ? 0 : byte(1 << (order.round - 1));
  if (part.epoch != 0 && !rules_.contribution_stays) after = Part{};
  move(next,
       named(r) + " obeys Prepare of round " + std::to_string(order.round) + " epoch " + std::to_string(order.epoch));
}

// P-18, P-18a: a part of each member that the order names, made for this epoch.
void RoundsMoves::sum(int r, const Message& order) {
  const Part& part = now_.replicas[r].rounds[order.round];
  const int first = first_of(stage_of(r));
  const bool is_expected = part.phase == kContributed && part.epoch == order.epoch && is_in(order.members, r - first);
  if (!is_expected) return;
  bool are_of_epoch = true;
  for (int m = first; m < first + kPerStage; ++m) {
    if (!is_in(order.members, m - first)) continue;
    bool is_there = false, is_of_epoch = false;
    for (int k = 0; k < now_.message_count; ++k) {
      const Message& found = now_.messages[k];
      if (found.kind != Kind::kPart || found.from != m || found.round != order.round) continue;
      is_of_epoch |= found.epoch == order.epoch;
      is_there |= found.epoch == order.epoch || !rules_.round_part_epoch;
    }
    if (!is_there) return;
    are_of_epoch &= is_of_epoch;
  }
  if (!are_of_epoch) break_property(kOtherParts);
  State next = now_;
  next.replicas[r].rounds[order.round].phase = kSummed;
  next.replicas[r].rounds[order.round].members = order.members;
  move(next,
       named(r) + " has the mean of round " + std::to_string(order.round) + " epoch " + std::to_string(order.epoch));
}

void RoundsMoves::take_mean(int r, const Message& mean) {
  if (now_.replicas[r].rounds[mean.round].phase != kMissed) return;
  State next = now_;
  next.replicas[r].rounds[mean.round] = {kAgreed, mean.epoch, mean.members, 0, 0};
  move(next, named(r) + " takes the mean of round " + std::to_string(mean.round) + " that it missed");
}

// P-32: all that is due is applied at once, when nothing is waited for any more.
void RoundsMoves::leave_boundary(int r) {
  State next = now_;
  Replica& after = next.replicas[r];
  for (int round = 1; round <= after.version; ++round) {
    Part& part = after.rounds[round];
    if (!model_.is_due(round, after.version) || part.phase == kOver) continue;
    const bool goes_without = part.phase == kMissed && !rules_.missed_waits;
    if (part.phase != kAgreed && !goes_without) return;
    const Entry& entry = *entry_of(now_, stage_of(r), round);
    if (part.epoch != entry.epoch || part.members != entry.members) {
      break_property(goes_without ? kWithoutMean : kOtherMean);
    }
    part = {kOver, 0, 0, 0, 0};
    if (rules_.mean_is_kept) after.kept = byte(after.kept | 1 << round);
  }
  after.is_at_boundary = 0;
  move(next, named(r) + " leaves the boundary of version " + std::to_string(after.version));
}

}  // namespace shoal::protocol::rounds
