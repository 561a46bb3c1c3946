// The beginning and the end of a run of sums; the moves stand in communicator_moves.h.
#include "tests/protocol/communicator/communicator_model.h"

#include "tests/protocol/communicator/communicator_moves.h"
#include "tests/protocol/explore/hash.h"

namespace shoal::protocol::communicator {

const std::vector<Rule>& all_rules() {
  static const std::vector<Rule> kRules = {
      {"held_by_all", &Rules::held_by_all, "P-18b", "a communicator that one member holds is taken for all"},
      {"of_no_others", &Rules::of_no_others, "P-18b", "a kept communicator is taken that has a member of no sum"},
      {"gives_up", &Rules::gives_up, "P-18b", "who enters another order keeps the communicator that it waits in"},
      {"says_so", &Rules::says_so, "P-18b", "who cannot come to the sum does not say so"},
      {"ring_after", &Rules::ring_after, "P-18b", "after a sum that came to nothing the library is tried again"},
      {"one_makes", &Rules::one_makes, "P-18b", "every member makes an id of its own"},
      {"id_again", &Rules::id_again, "P-18a, P-18b", "a lost id is not sent again"},
      {"id_of_order", &Rules::id_of_order, "P-15, P-18b", "an id of any order is taken"},
  };
  return kRules;
}

State CommunicatorModel::initial() const {
  State state;
  std::memset(static_cast<void*>(&state), 0, sizeof state);
  state.order = 1;
  state.orders[1].members = static_cast<Byte>((1 << scope.members) - 1);
  for (int m = 0; m < scope.members; ++m) state.members[m].is_alive = 1;
  state.budget = scope.budget;
  return state;
}

void CommunicatorModel::successors(const State& state, Pace pace, Sink<State>& sink) const {
  CommunicatorMoves(*this, state, pace, sink).all();
}

// No renaming: the first member of a sum makes its communicator.
std::uint64_t CommunicatorModel::fingerprint(const State& state) const {
  return finish_hash(hash_bytes(&state, state.size()));
}

State CommunicatorModel::becalmed(const State& state) const {
  State calm = state;
  calm.budget.fill(0);
  calm.floor = calm.order;
  for (Order& order : calm.orders) order.ids = 0;
  return calm;
}

int CommunicatorModel::progress(const State& state) const {
  int value = state.sums * 200 + state.order;
  for (const Member& member : state.members) {
    const bool is_here = member.is_alive != 0 && member.order == state.order;
    if (is_here) value += 10 + 20 * int{member.is_reduced} + 5 * int{member.has_begun} + 5 * int{member.used != 0};
  }
  return value;
}

std::string CommunicatorModel::describe(const State& state) const {
  std::string text = "  newest order " + std::to_string(state.order) + ", whose Reduce names " +
                     std::to_string(state.newest().named) + "; committed sums " + std::to_string(state.sums) + "\n";
  for (int m = 0; m < kMembersMax; ++m) {
    const Member& member = state.members[m];
    if (!member.is_alive) continue;
    text += "  m" + std::to_string(m) + ": order " + std::to_string(member.order) + ", holds communicator " +
            std::to_string(member.held) + ", waits in " + std::to_string(member.used) +
            (member.is_reduced ? ", has the sum" : "") + (member.has_failed ? ", has failed" : "") + "\n";
  }
  return text;
}

std::string CommunicatorModel::name() const {
  static constexpr std::array<const char*, kFaults> kNames = {"crash", "join", "abort", "group", "fail", "break"};
  std::string text = "communicator, members " + std::to_string(scope.members) + ", sums " + std::to_string(scope.sums) +
                     ", orders " + std::to_string(scope.orders);
  for (int f = 0; f < kFaults; ++f) {
    if (scope.budget[f] > 0) text += std::string(", ") + kNames[f] + " " + std::to_string(scope.budget[f]);
  }
  for (const Rule& rule : all_rules()) {
    if (!(rules.*(rule.flag))) text += ", without " + std::string(rule.name);
  }
  return text;
}

}  // namespace shoal::protocol::communicator
