// The router of a requester, which is a replica of the first stage or the data loader, keeps every Forward and sends it
// again when a rule says so (P-11 to P-13).
//
// An Ask is not a message here. The answer to it makes the router wait, or send the same Forward to the same hop again:
// while messages may come late and again, that one is in the network already. So an Ask matters only to a run in which
// everything in flight was lost, and there it is a repeat of that Forward. Whoever picks a substitute may pick any.
#include "tests/protocol/step/moves.h"

namespace shoal::protocol {
namespace {

// A Forward with the further hops of a path that the data loader made of what it knows about holders.
Message forward_of(const State& state, int requester, int to, int microbatch) {
  const int step = state.commits_at(position_of(state, requester));
  if (requester != kLoader) return forward(requester, to, {step, microbatch, false});
  const auto& held = state.loader.held;
  return forward(kLoader, to,
                 {step, microbatch, false, holder_in(held[1], microbatch), holder_in(held[2], microbatch)});
}

}  // namespace

void Moves::router(int requester) {
  const Requests& requests = requests_of(now_, requester);
  const int step = now_.commits_at(position_of(now_, requester));
  for (int b = 0; b < model_.scope.microbatches; ++b) {
    if (requests.state[b] == kNotSent) continue;
    if (passes_missing_on(requester, step, b)) router_sends_again(requester, b);
    if (requests.state[b] != kAsked) continue;
    const int hop = requests.hop[b];
    if (hop == kNobody) {
      router_picks_another(requester, b, false);
    } else {
      if (is_calm()) router_sends_again(requester, b);  // T1
      const bool is_refused = now_.has(refusal(hop, requester, {step, b, false})) && rules_.frozen_next;
      if (is_refused) router_picks_another(requester, b, false);  // the fourth time
      if (!is_calm() && now_.budget[kRetry] > 0) router_picks_another(requester, b, true);
    }
  }
}

// P-17a. The data loader's router always sends again; a replica passes on what it has answered, and while it is open
// what it has in flight.
bool Moves::passes_missing_on(int requester, int step, int b) const {
  if (!rules_.missing || !now_.has(missing(requester == kLoader ? 0 : stage_of(requester) + 1, step, b))) return false;
  if (requester == kLoader) return true;
  const Replica& replica = now_.replicas[requester];
  if (!is_member(replica.position, requester)) return false;
  const bool may_be_in_flight = replica.phase == kOpen || !rules_.missing_when_open;
  return replica.ledger[b] == kAccumulated || (replica.ledger[b] == kInFlight && may_be_in_flight);
}

// To the same hop, if that is a member still; else a substitute is picked.
void Moves::ask_again(State& next, int requester, int b) const {
  Requests& requests = requests_of(next, requester);
  const int position = position_of(next, requester);
  requests.state[b] = kAsked;
  requests.answered_by[b] = kNobody;
  if (requests.hop[b] == kNobody) return;
  if (!is_in(next.members_at(position), requests.hop[b])) {
    requests.hop[b] = kNobody;
  } else {
    next.add(forward_of(next, requester, requests.hop[b], b));
  }
}

void Moves::router_sends_again(int requester, int b) {
  State next = now_;
  ask_again(next, requester, b);
  if (next == now_) return;
  move(next, [&] {
    return std::string(name_of(requester)) + " sends microbatch " + std::to_string(b) + " again, to " +
           name_of(requests_of(next, requester).hop[b]);
  });
}

// P-13. A change that no rule asks for costs a fault: a hop that seems to be away.
void Moves::router_picks_another(int requester, int b, bool is_early) {
  const int position = position_of(now_, requester),
            first = requester == kLoader ? 0 : first_of(stage_of(requester) + 1);
  for (int to = first; to < first + kReplicasPerStage; ++to) {
    const bool is_other = to != requests_of(now_, requester).hop[b];
    if (!is_member(position, to) || !is_other || !is_good_target(to, b)) continue;
    State next = now_;
    if (is_early) --next.budget[kRetry];
    requests_of(next, requester).hop[b] = byte(to);
    next.add(forward_of(now_, requester, to, b));
    move(next, [&] {
      return std::string(name_of(requester)) + " sends microbatch " + std::to_string(b) + " to another, " +
             name_of(to) + (is_early ? ", too early" : "");
    });
  }
}

// P-12: what the removed replica was sent, or answered, goes again.
void Moves::router_reads_removal(State& next, int requester, int removed) const {
  if (!rules_.send_on_removal) return;
  for (int b = 0; b < model_.scope.microbatches; ++b) {
    const Requests& requests = requests_of(next, requester);
    const bool is_concerned = requests.hop[b] == removed || requests.answered_by[b] == removed;
    if (requests.state[b] != kNotSent && is_concerned) ask_again(next, requester, b);
  }
}

// P-10: an answer of a removed replica is none. Without keep_inputs what is answered is kept no longer.
void Moves::note_answer(State& next, int requester, Message answer) const {
  Requests& requests = requests_of(next, requester);
  const int b = answer.microbatch();
  if (requests.state[b] == kNotSent) return;
  requests.state[b] = rules_.keep_inputs ? kAnswered : kNotSent;
  requests.answered_by[b] = byte(answer.from());
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
