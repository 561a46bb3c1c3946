// A replica follows the journal and holds the sum of an order (P-3, P-15, P-23, P-24, P-28).
#include "tests/protocol/journal/journal_moves.h"

namespace shoal::protocol::journal {
namespace {

constexpr const char* kOtherHistory = "S-3: a commit is applied to weights of another history";

}  // namespace

void JournalMoves::replica(int p) {
  const Replica& replica = now_.replicas[p];
  if (replica.number == 0) return;
  if (replica.position < now_.floor) return fall_behind(p);
  if (replica.position < now_.log_size) read(p);
  if (replica.is_member != 0) obey(p);
}

void JournalMoves::read(int p) {
  const Replica& replica = now_.replicas[p];
  const Entry& entry = now_.log[replica.position];
  State next = now_;
  Replica& after = next.replicas[p];
  ++after.position;
  after.read_term = entry.term;
  const bool is_own = entry.number == replica.number && entry.process == p;
  if (entry.kind == EntryKind::kAdd && is_own) after.is_member = 1;
  if (entry.kind == EntryKind::kRemove && is_own) after = Replica{};
  const bool is_for_it = entry.kind == EntryKind::kCommit && entry.branch == replica.branch && replica.is_member != 0;
  if (is_for_it) read_commit(next, p, entry);
  move(next, "replica " + std::to_string(replica.number) + " reads entry " + std::to_string(replica.position + 1));
}

// P-23, P-24
void JournalMoves::read_commit(State& next, int p, const Entry& entry) {
  const Replica& replica = now_.replicas[p];
  Replica& after = next.replicas[p];
  const bool holds_sum = replica.has_sum != 0 && replica.epoch == entry.epochs[stage_of(p)];
  if (entry.step != replica.version || !holds_sum) {
    after = Replica{};
    return;
  }
  if (replica.weights != entry.from) break_property(kOtherHistory);
  ++after.version;
  after.weights = entry.made;
  after.has_sum = 0;
}

// P-3a: the entries that it lacks are gone.
void JournalMoves::fall_behind(int p) {
  const Replica& replica = now_.replicas[p];
  State next = now_;
  const bool may_adopt = replica.is_member == 0 || !rules_.left_behind_ends;
  if (may_adopt && now_.floor <= now_.log_size) {
    next.replicas[p].position = now_.floor;
    next.replicas[p].read_term = now_.log[now_.floor - 1].term;
    if (view_at(now_, now_.floor).members[p] == replica.number) {
      if (rules_.left_behind_ends) next.replicas[p] = Replica{};
      if (!rules_.left_behind_ends) next.replicas[p].is_member = 1;
    }
  } else {
    next.replicas[p] = Replica{};
  }
  move(next, "replica " + std::to_string(replica.number) + " is behind the snapshot");
}

// P-15. The sum is one move.
void JournalMoves::obey(int p) {
  const Replica& replica = now_.replicas[p];
  for (int k = 0; k < now_.message_count; ++k) {
    const Message& order = now_.messages[k];
    const bool is_for_it = order.kind == Kind::kOrder && order.stage == stage_of(p) && order.step == replica.version &&
                           (order.branch == replica.branch || !rules_.order_branch);
    if (!is_for_it || order.epoch < replica.epoch) continue;
    State next = now_;
    next.replicas[p].epoch = order.epoch;
    next.replicas[p].has_sum = 1;
    next.add({Kind::kReduced, order.stage, order.branch, order.step, order.epoch, replica.number, 0, 0});
    if (next == now_) continue;
    move(next, "replica " + std::to_string(replica.number) + " holds the sum of epoch " + std::to_string(order.epoch));
  }
}

}  // namespace shoal::protocol::journal
