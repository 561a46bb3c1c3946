// What the router of a first-stage replica does: it keeps every Forward and sends it again when a rule says so (P-12).
#include "tests/protocol/step/moves.h"

namespace shoal::protocol {

void Moves::router_sends_again(int r) {
  const Replica& replica = now_.replicas[r];
  for (int b = 0; b < model_.scope.microbatches; ++b) {
    if (replica.ledger[b] == kNone) continue;
    const int hop = replica.hop[b];
    const bool is_hop_gone = rules_.send_on_removal && hop != kNobody && !is_member(replica.position, hop);
    const bool is_due = is_hop_gone || (rules_.missing && now_.has(missing(1, replica.version, b)));
    if (replica.ledger[b] == kAccumulated && (!is_due || !rules_.keep_inputs)) continue;  // P-11
    if (is_due || is_calm() || now_.budget[kRetry] > 0) router_sends_again(r, b, is_due);
  }
}

// A repeat that no rule asks for costs a fault: a time-out that comes too early.
void Moves::router_sends_again(int r, int microbatch, bool is_due) {
  const Replica& replica = now_.replicas[r];
  for (int to = first_of(1); to < kReplicas; ++to) {
    if (!is_member(replica.position, to) || !is_good_target(to, microbatch)) continue;
    State next = now_;
    if (!is_due && !is_calm()) --next.budget[kRetry];
    next.replicas[r].hop[microbatch] = byte(to);
    const Message again = forward(r, to, {replica.version, microbatch, false});
    if (!next.add(again) && replica.hop[microbatch] == to) continue;
    move(next, [&] { return std::string(name_of(r)) + " sends " + told(again) + " again, to " + name_of(to); });
  }
}

// A sensible run asks whoever has the microbatch, else the first member that lives.
bool Moves::is_good_target(int replica, int microbatch) const {
  if (pace_ != Pace::kSensible) return true;
  const int stage = stage_of(replica), members = now_.members();
  int best = -1, best_state = -1;
  for (int r = first_of(stage); r < first_of(stage + 1); ++r) {
    const int state = now_.replicas[r].ledger[microbatch];
    if (!is_in(members, r) || !now_.replicas[r].is_alive || state <= best_state) continue;
    best = r;
    best_state = state;
  }
  return replica == best;
}

}  // namespace shoal::protocol
