// Keeps a search small, and hides no run: a message is dropped when whoever could act upon it never will, an entry is
// read at once when it changes nothing for its reader. How far somebody has read matters where entries are lost or
// replaced by a snapshot: there each is read by a move of its own.
#include <algorithm>

#include "tests/protocol/journal/journal_moves.h"

namespace shoal::protocol::journal {
namespace {

bool is_order_dead(const State& state, const Message& order) {
  return std::ranges::none_of(state.replicas, [&](const Replica& replica) {
    const int p = static_cast<int>(&replica - state.replicas.data());
    return replica.number != 0 && stage_of(p) == order.stage && replica.branch == order.branch &&
           replica.version <= order.step && replica.epoch <= order.epoch;
  });
}

bool is_answer_dead(const State& state, const Message& answer) {
  const Group& group = state.groups[answer.stage];
  return group.is_on == 0 || group.phase != kOrdered || group.epoch() != answer.epoch;
}

bool is_vote_dead(const State& state, const View& view, const Message& vote) {
  return vote.step < view.committed || vote.term != state.spawner.term || vote.branch != view.branch ||
         vote.epoch >> kCounterBits != view.groups[vote.stage] || vote.position < view.changed[vote.stage];
}

bool is_harmless(const Entry& entry, const Replica& replica) {
  return entry.kind != EntryKind::kCommit && entry.number != replica.number;
}

void read_harmless(State& state) {
  for (Replica& replica : state.replicas) {
    while (replica.number != 0 && replica.position < state.log_size &&
           is_harmless(state.log[replica.position], replica)) {
      replica.read_term = state.log[replica.position++].term;
    }
  }
  for (int stage = 0; stage < kStages; ++stage) {
    Group& group = state.groups[stage];
    while (group.is_on != 0 && group.position < state.log_size) {
      const Entry& entry = state.log[group.position];
      const bool concerns = entry.changes(stage) || (entry.kind == EntryKind::kAppoint && entry.stage == stage) ||
                            entry.branch != state.log[group.position - 1].branch;
      if (concerns || entry.kind == EntryKind::kCommit) break;
      ++group.position;
    }
  }
}

}  // namespace

void JournalMoves::settle(State& next) const {
  const View view = view_at(next, next.log_size);
  int kept = 0;
  for (int k = 0; k < next.message_count; ++k) {
    const Message& message = next.messages[k];
    const bool is_dead = message.kind == Kind::kOrder     ? rules_.order_branch && is_order_dead(next, message)
                         : message.kind == Kind::kReduced ? is_answer_dead(next, message)
                                                          : rules_.vote_fence && is_vote_dead(next, view, message);
    if (!is_dead) next.messages[kept++] = message;
  }
  next.message_count = byte(kept);
  if (model_.scope.budget[kTruncate] == 0 && model_.scope.budget[kSnapshot] == 0) read_harmless(next);
}

}  // namespace shoal::protocol::journal
