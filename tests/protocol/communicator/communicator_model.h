// Sums that a library makes on its members' devices (P-18b): which communicator a Reduce names, who makes it, who gives
// it up, and when sums go over the ring instead.
//
// A library pairs calls by their number in a communicator and not by what they are about, and hangs where a member does
// not call. So the model counts the calls of each member in each communicator. Order and manifest, vote and commit are
// one move each. Words are not lost, but for the id of a new communicator, and no time-out is modelled: a sum that
// patience alone would end is a broken property here.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "tests/protocol/explore/model.h"

namespace shoal::protocol::communicator {

using Byte = std::uint8_t;

inline constexpr int kMembersMax = 4;
inline constexpr int kOrdersMax = 10;
inline constexpr int kCallsMax = kOrdersMax;  // of one member in one communicator: one for each order
inline constexpr int kSumsMax = 3;
inline constexpr int kRing = 15;  // what a Reduce names where it names no communicator

enum Fault : Byte { kCrash, kJoin, kAbort, kGroup, kFail, kBreak, kFaults };

struct Scope {
  int members = 2;
  int sums = 2;
  int orders = 4;  // that the group may give while faults come
  std::array<Byte, kFaults> budget{};
};

// Each can be removed, as in the model of the step.
struct Rules {
  bool held_by_all = true;
  bool of_no_others = true;
  bool gives_up = true;
  bool says_so = true;
  bool ring_after = true;
  bool one_makes = true;
  bool id_again = true;
  bool id_of_order = true;
};
struct Rule {
  std::string_view name;
  bool Rules::*flag;
  std::string_view law;
  std::string_view without;
};
[[nodiscard]] const std::vector<Rule>& all_rules();

// A communicator is named by the order whose Reduce it was made for; 0: none.
struct Member {
  Byte is_alive, order;  // order 0: it has obeyed nothing yet
  Byte has_begun;        // its Reduce
  Byte is_reduced, has_failed;
  Byte held;     // the communicator of its newest sum
  Byte used;     // the one that it sums by, once it has called
  Byte id_made;  // the communicator that it made an id of, and offers to the others
};

// An order of the group, from its Prepare on.
struct Order {
  Byte members;      // one bit each
  Byte named;        // by its Reduce: a communicator or kRing; 0: there is no Reduce yet
  Byte contributed;  // over the ring, one bit each
  Byte ids;          // on their way, one bit per receiver
};

// The calls of one member in one communicator, by the orders that they were made for.
struct Calls {
  Byte count;
  std::array<Byte, kCallsMax> orders;
};

struct State {
  Byte order;      // the newest one
  Byte floor;      // what belongs to an older order than this is lost
  Byte sums;       // committed
  Byte goes_ring;  // the next sum, because one by a library came to nothing
  Byte is_broken;  // the library: no call succeeds any more
  Byte joined;
  std::array<Byte, kFaults> budget;
  std::array<Member, kMembersMax> members;
  std::array<Order, kOrdersMax + 1> orders;
  std::array<std::array<Calls, kMembersMax>, kOrdersMax + 1> calls;

  [[nodiscard]] const Order& newest() const { return orders[order]; }
  [[nodiscard]] bool is_member(int m, int of) const { return (orders[of].members >> m & 1) != 0; }
  [[nodiscard]] static constexpr std::size_t size() { return sizeof(State); }
  friend bool operator==(const State& one, const State& other) { return std::memcmp(&one, &other, sizeof one) == 0; }
};
static_assert(std::has_unique_object_representations_v<State>, "equal states are equal bytes: fill the padding");

class CommunicatorModel {
 public:
  using State = communicator::State;

  CommunicatorModel(const Scope& searched, const Rules& kept) : scope(searched), rules(kept) {}

  [[nodiscard]] State initial() const;
  void successors(const State& state, Pace pace, Sink<State>& sink) const;
  [[nodiscard]] std::uint64_t fingerprint(const State& state) const;
  // All sums are committed.
  [[nodiscard]] bool is_finished(const State& state) const { return state.sums == scope.sums; }
  [[nodiscard]] bool is_exempt(const State&) const { return false; }
  [[nodiscard]] State becalmed(const State& state) const;
  [[nodiscard]] int progress(const State& state) const;
  [[nodiscard]] bool is_fault(const State& before, const State& after) const { return before.budget != after.budget; }
  [[nodiscard]] std::string describe(const State& state) const;
  [[nodiscard]] std::string name() const;

  const Scope scope;
  const Rules rules;
};

}  // namespace shoal::protocol::communicator
