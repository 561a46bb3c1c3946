// The inside of a sum (P-18a): a ring of members, parts that are lost, the marks and questions that find them, and a
// group that orders a new sum whenever the members change.
//
// In the model of the step a part is one message that is there or not. Here each bucket goes round the ring by itself:
// lap 0 adds, lap 1 copies. What two members send each other keeps its order and may be lost from its head, or all of
// it with the link. A value is the set of contributions that it has, and whether one is in it twice.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "tests/protocol/explore/model.h"

namespace shoal::protocol::sum {

using Byte = std::uint8_t;

inline constexpr int kMembersMax = 4;
inline constexpr int kBucketsMax = 2;
inline constexpr int kEpochsMax = 4;
inline constexpr int kLettersMax = 60;
inline constexpr int kAnyMark = 7;  // of a question that is put whatever is on its way

enum Fault : Byte { kLoss, kBreak, kRepeat, kCrash, kJoin, kAbort, kFaults };

struct Scope {
  int members = 3;
  int buckets = 2;
  std::array<Byte, kFaults> budget{};
};

// Each can be removed, as in the model of the step.
struct Rules {
  bool order_match = true;
  bool part_once = true;
  bool mark_behind = true;
  bool mark_checked = true;
  bool again_asks = true;
  bool whole_for_partial = true;
  bool lacks_is_asked = true;
};
struct Rule {
  std::string_view name;
  bool Rules::*flag;
  std::string_view law;
  std::string_view without;
};
[[nodiscard]] const std::vector<Rule>& all_rules();

// A part, a mark or a question on its way.
enum class Kind : Byte { kPart, kMark, kLack };
struct Letter {
  Byte from, to;
  Kind kind;
  Byte epoch;
  Byte bucket, hop;
  Byte value;  // part: contributions, and kTwice; mark, question: the number of the mark
  [[nodiscard]] bool is_on_lane() const { return kind != Kind::kLack; }
  [[nodiscard]] bool is_of_way(const Letter& other) const {
    return from == other.from && to == other.to && is_on_lane() == other.is_on_lane();
  }
  [[nodiscard]] int way() const { return (from << 4 | to) << 1 | int{is_on_lane()}; }
};
inline constexpr Byte kTwice = 1 << kMembersMax;

enum Passage : Byte { kAwaited, kPassed, kAwaitedAgain };

struct Member {
  Byte is_alive, epoch;  // epoch 0: it has obeyed nothing yet
  Byte marks;            // sent to the successor in this epoch
  std::array<Byte, kBucketsMax> passage,
      whole;  // whole: the sum's contributions, 0 while it is not there
  std::array<Byte, kBucketsMax> partial_mark,
      whole_mark;  // marks that went before the part that was sent, 0: before all
};

struct State {
  Byte epoch;  // of the group's newest order
  Byte joined;
  std::array<Byte, kEpochsMax + 1> members_of;  // of each epoch, one bit per member
  std::array<Byte, kFaults> budget;
  std::array<Member, kMembersMax> members;
  Byte letter_count;
  std::array<Letter, kLettersMax> letters;  // by way, and in the order in which they were sent

  void send(const Letter& letter);
  void take(int index);
  [[nodiscard]] std::size_t size() const { return offsetof(State, letters) + letter_count * sizeof(Letter); }
  friend bool operator==(const State& one, const State& other) {
    return one.size() == other.size() && std::memcmp(&one, &other, one.size()) == 0;
  }
};
static_assert(std::has_unique_object_representations_v<State>, "equal states are equal bytes: fill the padding");

class SumModel {
 public:
  using State = sum::State;

  SumModel(const Scope& searched, const Rules& kept) : scope(searched), rules(kept) {}

  [[nodiscard]] State initial() const;
  void successors(const State& state, Pace pace, Sink<State>& sink) const;
  [[nodiscard]] std::uint64_t fingerprint(const State& state) const;
  // Every member of the newest order holds the whole sum.
  [[nodiscard]] bool is_finished(const State& state) const;
  [[nodiscard]] bool is_exempt(const State& state) const;
  [[nodiscard]] State becalmed(const State& state) const;
  [[nodiscard]] int progress(const State& state) const;
  [[nodiscard]] bool is_fault(const State& before, const State& after) const { return before.budget != after.budget; }
  [[nodiscard]] std::string describe(const State& state) const;
  [[nodiscard]] std::string name() const;

  const Scope scope;
  const Rules rules;
};

// The place of a member in the ring of an epoch.
struct Place {
  int size = 0, index = 0;
  int successor = 0, predecessor = 0;
  [[nodiscard]] int distance(int bucket) const { return (index + size - bucket % size) % size; }
};
[[nodiscard]] Place place_of(const State& state, int member, int epoch);

}  // namespace shoal::protocol::sum
