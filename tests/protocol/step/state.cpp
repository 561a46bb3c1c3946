// The set of messages and the view that a position of the journal gives.
#include "tests/protocol/step/state.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace shoal::protocol {

void Requests::clear() {
  state.fill(kNotSent);
  hop.fill(kNobody);
  answered_by.fill(kNobody);
}

void Requests::forget(int microbatch) {
  state[microbatch] = kNotSent;
  hop[microbatch] = answered_by[microbatch] = kNobody;
}

void Replica::clear() {
  *this = Replica{};
  requests.clear();
}

void Group::begin_step() {
  phase = kSilent;
  missing = last_zero = is_survey = was_asked = 0;
}

void Replica::begin_step() {
  ledger.fill(kNone);
  accumulated.fill(0);
  sum.fill(0);
  kept.fill(0);
  waiters.fill(0);
  requests.clear();
  is_stale = is_sum_stale = 0;
  emptied = 0;
  phase = kOpen;
}

bool State::has(Message message) const {
  return std::binary_search(messages.begin(), messages.begin() + message_count, message.bits());
}

bool State::add(Message message) {
  const auto end = messages.begin() + message_count;
  const auto at = std::lower_bound(messages.begin(), end, message.bits());
  if (at != end && *at == message.bits()) return false;
  if (message_count >= kMessagesMax) {
    std::fprintf(stderr, "a state has more than %d messages\n", kMessagesMax);
    std::exit(3);
  }
  std::copy_backward(at, end, end + 1);
  *at = message.bits();
  ++message_count;
  return true;
}

namespace {

bool is_local(Message message) {
  return message.kind() == Kind::kAllAnswered || message.kind() == Kind::kAskHolders ||
         message.kind() == Kind::kHolders;
}

template <class Predicate>
void drop_if(State& state, Predicate is_dropped) {
  const auto begin = state.messages.begin();
  const auto end =
      std::remove_if(begin, begin + state.message_count, [&](std::uint32_t bits) { return is_dropped(Message(bits)); });
  state.message_count = byte(static_cast<int>(end - begin));
}

}  // namespace

void State::drop(Message message) {
  drop_if(*this, [message](Message other) { return other == message; });
}

void State::drop_all_but_local() {
  drop_if(*this, [](Message message) { return !is_local(message); });
}

void State::drop_local() { drop_if(*this, is_local); }

int State::members_at(int position) const {
  int mask = first_members;
  for (int i = 0; i < position; ++i) {
    const Entry entry = log[i];
    if (entry.is_removal()) mask &= ~(1 << entry.replica());
    if (entry.is_addition()) mask |= 1 << entry.replica();
  }
  return mask;
}

int State::commits_at(int position) const {
  return static_cast<int>(std::count_if(log.begin(), log.begin() + position, [](Entry e) { return e.is_commit(); }));
}

int State::left_out_at(int position) const {
  int mask = 0;
  for (int i = 0; i < position; ++i) {
    if (log[i].is_commit()) mask = 0;
    if (log[i].is_quarantine()) mask |= 1 << log[i].microbatch();
  }
  return mask;
}

bool State::was_added(int replica) const {
  return std::any_of(log.begin(), log.begin() + log_size,
                     [replica](Entry entry) { return entry.is_addition() && entry.replica() == replica; });
}

namespace {

// The members of a group's stage at its position, one bit each.
int stage_members(const State& state, int group) {
  const int stage = group % kStages;
  return (state.members_at(state.groups[group].position) & mask_of(stage)) >> first_of(stage);
}

}  // namespace

std::optional<Message> order_of(const State& state, int group) {
  const Group& g = state.groups[group];
  const auto say = [&](Kind kind, int payload) {
    return Message(kind, {group % kStages, 0, state.commits_at(g.position), g.epoch(), payload});
  };
  switch (g.phase) {
    case kPreparing: return say(Kind::kPrepare, g.last_zero);
    case kReducing: return say(Kind::kReduce, stage_members(state, group));
    case kOpened: return say(Kind::kOpen, 0);
    case kZeroed: return say(Kind::kZero, 0);
    default: return std::nullopt;
  }
}

Message vote_of(const State& state, int group) {
  const Group& g = state.groups[group];
  const int payload = g.began_at | stage_members(state, group) << 4;
  return {Kind::kVote, {group % kStages, 0, state.commits_at(g.position), g.epoch(), payload}};
}

Message part_of(const State& state, int replica) {
  const Replica& r = state.replicas[replica];
  const int payload = r.accumulated[0] | r.accumulated[1] << 2 | r.is_stale << 4;
  return {Kind::kPart, {replica, 0, r.version, r.epoch, payload}};
}

int last_zero_of(Message prepare) {
  const int incarnation = prepare.epoch() >> kCounterBits;
  return prepare.last_zero() == 0 ? 0 : incarnation << kCounterBits | prepare.last_zero();
}

Requests& requests_of(State& state, int requester) {
  return requester == kLoader ? state.loader.requests : state.replicas[requester].requests;
}

const Requests& requests_of(const State& state, int requester) {
  return requester == kLoader ? state.loader.requests : state.replicas[requester].requests;
}

int position_of(const State& state, int requester) {
  return requester == kLoader ? state.loader.position : state.replicas[requester].position;
}

const char* name_of(int replica) {
  static constexpr std::array<const char*, 16> kNames = {"a0", "a1", "a2", "b0", "b1", "b2", "c0", "c1",
                                                         "c2", "?",  "?",  "?",  "?",  "?",  "?",  "loader"};
  return kNames[replica];
}

}  // namespace shoal::protocol
