// The beginning and the end of a sum, and the letters between members; their moves stand in sum_moves.h.
#include "tests/protocol/sum/sum_model.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>

#include "tests/protocol/explore/hash.h"
#include "tests/protocol/sum/sum_moves.h"

namespace shoal::protocol::sum {

const std::vector<Rule>& all_rules() {
  static const std::vector<Rule> kRules = {
      {"order_match", &Rules::order_match, "P-15", "a part of any order enters the sum of its step"},
      {"part_once", &Rules::part_once, "P-18a", "a part that comes again is added again"},
      {"mark_behind", &Rules::mark_behind, "P-9a", "a mark overtakes the parts before it"},
      {"mark_checked", &Rules::mark_checked, "P-18a", "what was sent behind the mark is sent again, too"},
      {"again_asks", &Rules::again_asks, "P-18a", "who cannot make a partial sum again does not ask for it"},
      {"whole_for_partial", &Rules::whole_for_partial, "P-18a", "who is whole does not answer for a partial sum"},
      {"lacks_is_asked", &Rules::lacks_is_asked, "P-18a", "a receiver does not say what it lacks"},
  };
  return kRules;
}

void State::send(const Letter& letter) {
  if (letter_count >= kLettersMax) {
    std::fprintf(stderr, "a state has more than %d letters\n", kLettersMax);
    std::exit(3);
  }
  const auto end = letters.begin() + letter_count;
  const auto at = std::upper_bound(letters.begin(), end, letter,
                                   [](const Letter& one, const Letter& other) { return one.way() < other.way(); });
  std::copy_backward(at, end, end + 1);
  *at = letter;
  ++letter_count;
}

void State::take(int index) {
  std::copy(letters.begin() + index + 1, letters.begin() + letter_count, letters.begin() + index);
  --letter_count;
}

Place place_of(const State& state, int member, int epoch) {
  const unsigned mask = state.members_of[epoch];
  std::array<int, kMembersMax> ring{};
  Place place;
  for (int m = 0; m < kMembersMax; ++m) {
    if ((mask >> m & 1) == 0) continue;
    if (m == member) place.index = place.size;
    ring[place.size++] = m;
  }
  place.successor = ring[(place.index + 1) % place.size];
  place.predecessor = ring[(place.index + place.size - 1) % place.size];
  return place;
}

State SumModel::initial() const {
  State state;
  std::memset(static_cast<void*>(&state), 0, sizeof state);
  state.epoch = 1;
  state.members_of[1] = static_cast<Byte>((1 << scope.members) - 1);
  for (int m = 0; m < scope.members; ++m) state.members[m].is_alive = 1;
  state.budget = scope.budget;
  return state;
}

void SumModel::successors(const State& state, Pace pace, Sink<State>& sink) const {
  SumMoves(*this, state, pace, sink).all();
}

// No renaming: places in the ring differ by the buckets that begin there.
std::uint64_t SumModel::fingerprint(const State& state) const { return finish_hash(hash_bytes(&state, state.size())); }

bool SumModel::is_finished(const State& state) const {
  for (int m = 0; m < kMembersMax; ++m) {
    if ((state.members_of[state.epoch] >> m & 1) == 0) continue;
    const Member& member = state.members[m];
    if (!member.is_alive || member.epoch != state.epoch) return false;
    for (int b = 0; b < scope.buckets; ++b) {
      if (member.whole[b] == 0) return false;
    }
  }
  return true;
}

bool SumModel::is_exempt(const State& state) const {
  return std::ranges::none_of(state.members, [](const Member& member) { return member.is_alive; });
}

State SumModel::becalmed(const State& state) const {
  State calm = state;
  calm.letter_count = 0;
  calm.budget.fill(0);
  return calm;
}

int SumModel::progress(const State& state) const {
  int value = -state.letter_count;
  for (const Member& member : state.members) {
    if (!member.is_alive || member.epoch != state.epoch) continue;
    value += 20 - member.marks;
    for (int b = 0; b < scope.buckets; ++b)
      value += 10 * int{member.whole[b] != 0} + 4 * int{member.passage[b] == kPassed};
  }
  return value;
}

std::string SumModel::describe(const State& state) const {
  std::string text = "  newest order: " + std::to_string(state.epoch) + "\n";
  for (int m = 0; m < kMembersMax; ++m) {
    const Member& member = state.members[m];
    if (!member.is_alive) continue;
    text += "  m" + std::to_string(m) + ": order " + std::to_string(member.epoch);
    for (int b = 0; b < scope.buckets; ++b) {
      text += ", bucket " + std::to_string(b) + ": passage " + std::to_string(member.passage[b]) + ", whole " +
              std::to_string(member.whole[b]);
    }
    text += "\n";
  }
  return text;
}

std::string SumModel::name() const {
  static constexpr std::array<const char*, kFaults> kNames = {"loss", "break", "repeat", "crash", "join", "abort"};
  std::string text = "sum, members " + std::to_string(scope.members) + ", buckets " + std::to_string(scope.buckets);
  for (int f = 0; f < kFaults; ++f) {
    if (scope.budget[f] > 0) text += std::string(", ") + kNames[f] + " " + std::to_string(scope.budget[f]);
  }
  for (const Rule& rule : all_rules()) {
    if (!(rules.*(rule.flag))) text += ", without " + std::string(rule.name);
  }
  return text;
}

}  // namespace shoal::protocol::sum
