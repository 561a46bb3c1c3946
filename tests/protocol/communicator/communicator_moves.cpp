// The moves of communicator_moves.h, in the order in which a sum comes about.
#include "tests/protocol/communicator/communicator_moves.h"

#include <bit>

namespace shoal::protocol::communicator {
namespace {

constexpr const char* kNotOnce = "S-1: a sum by a library has a contribution not exactly once";
constexpr const char* kOtherOrder = "P-15: a library paired calls of different orders";

std::string named(int member) { return "m" + std::to_string(member); }
std::string told(int communicator) { return "communicator " + std::to_string(communicator); }
Byte byte(int value) { return static_cast<Byte>(value); }
bool is_in(int mask, int index) { return (mask >> index & 1) != 0; }

}  // namespace

void CommunicatorMoves::all() {
  for (int m = 0; m < kMembersMax; ++m) {
    if (now_.members[m].is_alive == 0) continue;
    obey(m);
    begin_sum(m);
    take_id(m);
    offer_id_again(m);
    hear_end(m);
    hear_failure(m);
  }
  reduces();
  commits();
  hears_failure();
  if (!is_calm()) faults();
}

void CommunicatorMoves::move(const State& next, const std::string& story) { sink_.take(next, broken_, story); }

// P-15, P-18b: who leaves a sum that is not whole leaves its communicator with it.
void CommunicatorMoves::obey(int m) {
  const Member& member = now_.members[m];
  for (int order = member.order + 1; order <= now_.order; ++order) {
    if (!now_.is_member(m, order) || order < now_.floor) continue;
    State next = now_;
    Member& after = next.members[m];
    const bool is_by_library = member.has_begun != 0 && now_.orders[member.order].named != kRing;
    const bool is_left = is_by_library && member.is_reduced == 0;
    after.order = byte(order);
    after.has_begun = after.is_reduced = after.has_failed = after.id_made = 0;
    if (is_left) after.held = rules_.gives_up ? byte(0) : after.used != 0 ? after.used : after.held;
    after.used = 0;
    move(next, named(m) + " obeys order " + std::to_string(order) + ", holds " + told(after.held));
  }
}

bool CommunicatorMoves::is_due(int m) const {
  const Member& member = now_.members[m];
  return member.order != 0 && member.order >= now_.floor && now_.orders[member.order].named != 0 &&
         member.has_begun == 0;
}

void CommunicatorMoves::begin_sum(int m) {
  if (!is_due(m)) return;
  now_.orders[now_.members[m].order].named == kRing ? begin_ring(m) : begin_by_library(m);
}

void CommunicatorMoves::begin_ring(int m) {
  State next = now_;
  const int order = now_.members[m].order;
  next.members[m].has_begun = 1;
  next.orders[order].contributed = byte(next.orders[order].contributed | 1 << m);
  move(next, named(m) + " contributes over the ring");
}

bool CommunicatorMoves::is_first(int m, int order) const { return std::countr_zero(now_.orders[order].members) == m; }

// A kept one is called at once. For a new one the first member makes an id, the others wait for it.
void CommunicatorMoves::begin_by_library(int m) {
  State next = now_;
  const Member& member = now_.members[m];
  const int named_one = now_.orders[member.order].named;
  next.members[m].has_begun = 1;
  std::string what = " waits for the id of ";
  if (named_one != member.order) {
    const bool can_come = member.held == named_one;
    can_come ? call(next, m, named_one) : fail(next, m);
    what = can_come ? " calls in " : " cannot come to ";
  } else if (is_first(m, member.order) || !rules_.one_makes) {
    make_id(next, m);
    what = " makes the id of, and calls in ";
  }
  move(next, named(m) + what + told(named_one));
}

// Without one_makes each is alone in what it made.
void CommunicatorMoves::make_id(State& next, int m) const {
  const int order = now_.members[m].order;
  if (!rules_.one_makes) {
    next.members[m].used = byte(order);
    return;
  }
  next.members[m].id_made = byte(order);
  next.orders[order].ids = byte(now_.orders[order].members & ~(1 << m));
  call(next, m, order);
}

void CommunicatorMoves::call(State& next, int m, int communicator) const {
  Calls& calls = next.calls[communicator][m];
  calls.orders[calls.count++] = next.members[m].order;
  next.members[m].used = byte(communicator);
}

void CommunicatorMoves::fail(State& next, int m) const {
  Member& member = next.members[m];
  member.has_failed = 1;
  member.held = member.used = 0;
}

// The id is the only part of such a sum (P-18a); it says of which order it is (P-15).
void CommunicatorMoves::take_id(int m) {
  const Member& member = now_.members[m];
  const bool waits = member.has_begun != 0 && member.used == 0 && member.has_failed == 0 && member.is_reduced == 0 &&
                     now_.orders[member.order].named == member.order;
  if (!waits) return;
  for (int order = 1; order <= member.order; ++order) {
    const bool is_its = order == member.order || !rules_.id_of_order;
    if (!is_its || !is_in(now_.orders[order].ids, m)) continue;
    State next = now_;
    next.orders[order].ids = byte(next.orders[order].ids & ~(1 << m));
    call(next, m, order);
    move(next, named(m) + " takes the id of " + told(order) + " and calls in it");
  }
}

// P-18a: who lacks the id asks for it, and the first member, if it is still there, gives it again.
void CommunicatorMoves::offer_id_again(int m) {
  const Member& member = now_.members[m];
  const bool has_it = member.id_made != 0 && member.id_made == member.order && member.order == now_.order;
  if (!has_it || !is_calm() || !rules_.id_again) return;
  State next = now_;
  Order& order = next.orders[member.order];
  order.ids = byte(order.members & ~(1 << m));
  if (!(next == now_)) move(next, named(m) + " gives the id again");
}

// The newest call of a member ends when every member of its communicator has made as many.
void CommunicatorMoves::hear_end(int m) {
  const Member& member = now_.members[m];
  const bool is_ring = member.has_begun != 0 && now_.orders[member.order].named == kRing;
  if (member.has_begun == 0 || member.is_reduced != 0 || member.has_failed != 0) return;
  State next = now_;
  next.members[m].is_reduced = 1;
  if (is_ring) {
    const Order& order = now_.orders[member.order];
    if (order.contributed == order.members) move(next, named(m) + " has the sum over the ring");
    return;
  }
  if (member.used == 0 || now_.is_broken != 0 || (!rules_.one_makes && member.used == member.order)) return;
  const int size_mask = now_.orders[member.used].members;
  const int number = now_.calls[member.used][m].count - 1;
  bool is_of_one_order = true;
  for (int other = 0; other < kMembersMax; ++other) {
    if (!is_in(size_mask, other)) continue;
    const Calls& calls = now_.calls[member.used][other];
    if (calls.count <= number) return;
    is_of_one_order &= calls.orders[number] == member.order;
  }
  if (!is_of_one_order) broken_ = kOtherOrder;
  if (size_mask != now_.orders[member.order].members) broken_ = kNotOnce;
  next.members[m].held = member.used;
  next.members[m].used = 0;
  move(next, named(m) + " has the sum by " + told(member.used));
  broken_ = nullptr;
}

// A library that is broken fails every call; otherwise one member's call, and the others wait.
void CommunicatorMoves::hear_failure(int m) {
  const Member& member = now_.members[m];
  const bool waits = member.has_begun != 0 && member.is_reduced == 0 && member.has_failed == 0 && member.used != 0;
  if (!waits || (now_.is_broken == 0 && (is_calm() || now_.budget[kFail] == 0))) return;
  State next = now_;
  if (now_.is_broken == 0) --next.budget[kFail];
  fail(next, m);
  move(next, std::string(now_.is_broken == 0 ? "*** " : "") + "the library fails at " + named(m));
}

// By the manifests of this order: what each member holds.
int CommunicatorMoves::choice() const {
  if (rules_.ring_after && now_.goes_ring != 0) return kRing;
  const int members = now_.newest().members;
  const int held = now_.members[std::countr_zero(static_cast<unsigned>(members))].held;
  bool is_same = held != 0, is_anybodys = held != 0;
  int somebodys = held;
  for (int m = 0; m < kMembersMax; ++m) {
    if (!is_in(members, m)) continue;
    is_same &= now_.members[m].held == held;
    if (now_.members[m].held == 0) continue;
    is_anybodys = true;
    somebodys = now_.members[m].held;
  }
  const bool is_held = rules_.held_by_all ? is_same : is_anybodys;
  if (!is_held) return now_.order;
  const int size = std::popcount(now_.orders[somebodys].members);
  const bool is_of_these = size == std::popcount(static_cast<unsigned>(members));
  return is_of_these || !rules_.of_no_others || !rules_.held_by_all ? somebodys : now_.order;
}

void CommunicatorMoves::reduces() {
  if (now_.newest().named != 0 || now_.sums == model_.scope.sums) return;
  for (int m = 0; m < kMembersMax; ++m) {
    const bool is_here = now_.members[m].is_alive != 0 && now_.members[m].order == now_.order;
    if (is_in(now_.newest().members, m) && !is_here) return;
  }
  State next = now_;
  const int chosen = choice();
  next.orders[now_.order].named = byte(chosen);
  if (chosen == kRing) next.goes_ring = 0;
  move(next, "the group reduces order " + std::to_string(now_.order) + " by " +
                 (chosen == kRing ? "the ring" : (chosen == now_.order ? "the new " : "the kept ") + told(chosen)));
}

void CommunicatorMoves::commits() {
  for (int m = 0; m < kMembersMax; ++m) {
    const bool is_done = now_.members[m].order == now_.order && now_.members[m].is_reduced != 0;
    if (is_in(now_.newest().members, m) && !is_done) return;
  }
  if (now_.newest().named == 0 || now_.sums == model_.scope.sums || (now_.sums + 1 < model_.scope.sums && !can_order()))
    return;
  State next = now_;
  if (++next.sums < model_.scope.sums) order_anew(next, now_.newest().members);
  move(next, "the sum of order " + std::to_string(now_.order) + " is committed");
}

// At once, and the next sum goes over the ring.
void CommunicatorMoves::hears_failure() {
  if (!rules_.says_so || !can_order()) return;
  bool has_failed = false;
  for (const Member& member : now_.members) has_failed |= member.has_failed != 0 && member.order == now_.order;
  if (!has_failed) return;
  State next = now_;
  next.goes_ring = 1;
  order_anew(next, now_.newest().members);
  move(next, "the group hears of a failure: order " + std::to_string(next.order));
}

bool CommunicatorMoves::can_order() const { return now_.order < (is_calm() ? kOrdersMax : model_.scope.orders); }

void CommunicatorMoves::order_anew(State& next, int members) const {
  next.orders[++next.order] = Order{byte(members), 0, 0, 0};
}

void CommunicatorMoves::faults() {
  if (now_.budget[kBreak] > 0 && now_.is_broken == 0) {
    State next = now_;
    --next.budget[kBreak];
    next.is_broken = 1;
    move(next, "*** the library breaks");
  }
  if (!can_order() || now_.sums == model_.scope.sums) return;
  for (const Fault fault : {kAbort, kGroup}) {
    if (now_.budget[fault] == 0) continue;
    State next = now_;
    --next.budget[fault];
    const bool is_by_library = now_.newest().named != 0 && now_.newest().named != kRing;
    next.goes_ring = byte(fault == kAbort ? now_.goes_ring | int{is_by_library} : 0);
    order_anew(next, now_.newest().members);
    move(next, std::string(fault == kAbort ? "*** the sum is given up" : "*** the group starts again") + ": order " +
                   std::to_string(next.order));
  }
  change_members();
}

void CommunicatorMoves::change_members() {
  const int members = now_.newest().members;
  for (int m = 0; m < kMembersMax && now_.budget[kCrash] > 0; ++m) {
    if (!is_in(members, m) || members == 1 << m) continue;
    State next = now_;
    --next.budget[kCrash];
    next.members[m] = Member{};
    order_anew(next, members & ~(1 << m));
    move(next, "*** " + named(m) + " ends: order " + std::to_string(next.order));
  }
  if (now_.budget[kJoin] == 0 || now_.joined != 0) return;
  State next = now_;
  --next.budget[kJoin];
  next.joined = 1;
  next.members[model_.scope.members].is_alive = 1;
  order_anew(next, members | 1 << model_.scope.members);
  move(next, "*** " + named(model_.scope.members) + " joins: order " + std::to_string(next.order));
}

}  // namespace shoal::protocol::communicator
