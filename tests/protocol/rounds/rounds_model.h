// Rounds (P-31 to P-36): contributions, sums of rounds, their place between two commits, members that miss one.
//
// In the model of the step every member has the same weights. Here each goes its own way, and what they agree on comes
// between the steps: so a step is one flag of each member, and a round has its Prepare, manifests, parts, votes, an
// entry of its own for each stage, and a mean that whoever missed it asks for. Every step ends in a contribution (H =
// 1); its round is due at once, or one step later (`delay 1`), so that two are open at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "tests/protocol/explore/model.h"

namespace shoal::protocol::rounds {

using Byte = std::uint8_t;

inline constexpr int kStages = 2;
inline constexpr int kPerStage = 3;  // the third one is a joiner, where a scope begins with less
inline constexpr int kReplicas = kStages * kPerStage;
inline constexpr int kRoundsMax = 3;  // one for each step; round n is contributed to at version n
inline constexpr int kLogMax = 26;
inline constexpr int kMessagesMax = 60;
inline constexpr int kCounterBits = 4;

[[nodiscard]] constexpr int stage_of(int replica) { return replica / kPerStage; }
[[nodiscard]] constexpr int first_of(int stage) { return stage * kPerStage; }
[[nodiscard]] constexpr Byte byte(int value) { return static_cast<Byte>(value); }
[[nodiscard]] constexpr bool is_in(int mask, int index) { return (mask >> index & 1) != 0; }

enum Fault : Byte { kCrash, kSuspect, kSpawner, kGroup, kJoin, kAbort, kLeave, kFaults };

struct Scope {
  int stages = 1;
  int replicas = 2;  // of each stage at the start
  int steps = 2;
  int delay = 0;     // steps between a contribution and its round's place
  int quorum = 0;    // members with tokens that close a round without the others; 0: all are waited for
  int counters = 3;  // epochs of a group
  std::array<Byte, kFaults> budget{};
};

// Each can be removed, as in the model of the step.
struct Rules {
  bool gate_rounds = true;
  bool round_place = true;
  bool round_once = true;
  bool round_position = true;
  bool round_vote_inst = true;
  bool round_part_epoch = true;
  bool round_vote_reduced = true;
  bool contribution_stays = true;
  bool boundary_first = true;
  bool joined_contributes = true;
  bool joined_weighs_nothing = true;
  bool quorum_of_tokens = true;
  bool missed_waits = true;
  bool missed_asks_next = true;
  bool missed_ends = true;
  bool missed_tokens_lost = true;
  bool mean_is_kept = true;
  bool rounds_from_journal = true;
  bool last_closes = true;
  bool copy_at_version = true;
  bool leaver_first = true;
};
struct Rule {
  std::string_view name;
  bool Rules::*flag;
  std::string_view law;
  std::string_view without;
};
[[nodiscard]] const std::vector<Rule>& all_rules();

enum class EntryKind : Byte { kNone, kCommit, kRound, kRemove, kAdd, kAppoint };

struct Entry {
  EntryKind kind;
  Byte stage;           // of a round, of an appointment
  Byte subject;         // a replica, a group's number, a round's
  Byte epoch, members;  // of a round: those whose shares make the mean, one bit each within the stage
  [[nodiscard]] bool changes(int of_stage) const {
    return (kind == EntryKind::kRemove || kind == EntryKind::kAdd) && stage_of(subject) == of_stage;
  }
  friend bool operator==(const Entry&, const Entry&) = default;
};

enum RoundPhase : Byte { kNone, kContributed, kSummed, kMissed, kAgreed, kOver };

// A member's part in a round.
struct Part {
  Byte phase;
  Byte epoch;    // of the newest Prepare; of the mean, from kSummed on
  Byte members;  // of the mean
  Byte tokens;   // of the contribution: the steps that it was trained on, one bit each
  Byte asked;    // the member that is asked for the mean that was missed
};

struct Replica {
  Byte is_alive, is_member;
  Byte position, version, started;  // started: with the state of this version
  Byte is_at_boundary, has_trained;
  Byte tokens;                              // since the last contribution
  Byte kept;                                // the rounds whose means it can give, one bit each
  std::array<Part, kRoundsMax + 1> rounds;  // by number
};

enum GroupPhase : Byte { kClosed, kPreparing, kReducing, kVoted };
struct GroupRound {
  Byte phase, counter, members, began_at;
};
struct Group {
  Byte is_on, number, counter, position;
  std::array<GroupRound, kRoundsMax + 1> rounds;
  [[nodiscard]] int epoch_of(int round) const { return number << kCounterBits | rounds[round].counter; }
};

// Prepare, Manifest, Reduce, Part, Reduced, Prepared of a round; FetchState and StepSum of a mean.
enum class Kind : Byte { kPrepare = 1, kManifest, kReduce, kPart, kReduced, kVote, kFetch, kMean };
struct Message {
  Kind kind;
  Byte from;  // a replica, or the stage of a group
  Byte to;    // of a question and of a mean
  Byte round, epoch;
  Byte members;   // of a sum
  Byte tokens;    // of a manifest: the steps
  Byte position;  // of a vote
  friend auto operator<=>(const Message&, const Message&) = default;
};

struct State {
  Byte log_size, next_group;
  std::array<Entry, kLogMax> log;
  std::array<Replica, kReplicas> replicas;
  std::array<Group, kStages> groups;
  std::array<Byte, kFaults> budget;
  Byte message_count;
  std::array<Message, kMessagesMax> messages;  // sorted

  bool add(const Message& message);
  [[nodiscard]] bool has(const Message& message) const;
  void append(const Entry& entry) { log[log_size++] = entry; }
  [[nodiscard]] std::size_t size() const { return offsetof(State, messages) + message_count * sizeof(Message); }
  friend bool operator==(const State& one, const State& other) {
    return one.size() == other.size() && std::memcmp(&one, &other, one.size()) == 0;
  }
};
static_assert(std::has_unique_object_representations_v<State>, "equal states are equal bytes: fill the padding");

// The journal up to a position, as a view.
struct View {
  int members = 0, committed = 0;
  std::array<int, kStages> groups{}, changed{}, recorded{};  // recorded: rounds, one bit each
  [[nodiscard]] int members_of(int stage) const { return members >> first_of(stage) & ((1 << kPerStage) - 1); }
};
[[nodiscard]] View view_at(const State& state, int position);

class RoundsModel {
 public:
  using State = rounds::State;

  RoundsModel(const Scope& searched, const Rules& kept) : scope(searched), rules(kept) {}

  [[nodiscard]] State initial() const;
  void successors(const State& state, Pace pace, Sink<State>& sink) const;
  [[nodiscard]] std::uint64_t fingerprint(const State& state) const;
  // All steps are committed, and every member of the journal that lives holds every round of them; or a stage has
  // nobody left, because a member that missed a round has found its mean with nobody (P-34): the run goes back (P-29).
  [[nodiscard]] bool is_finished(const State& state) const;
  // A stage has nobody left, or the search's journal is full.
  [[nodiscard]] bool is_exempt(const State& state) const;
  [[nodiscard]] bool is_served(const State& state) const;
  [[nodiscard]] State becalmed(const State& state) const;
  [[nodiscard]] int progress(const State& state) const;
  [[nodiscard]] bool is_fault(const State& before, const State& after) const { return before.budget != after.budget; }
  [[nodiscard]] std::string describe(const State& state) const;
  [[nodiscard]] std::string name() const;

  // Tells if a round has its place between the commit of step `committed` - 1 and the next one (P-32, P-35).
  [[nodiscard]] bool is_due(int round, int committed) const;

  const Scope scope;
  const Rules rules;
};

}  // namespace shoal::protocol::rounds
