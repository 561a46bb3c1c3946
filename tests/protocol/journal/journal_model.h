// The life of the journal: terms, branches, roll-back, snapshots, an end that is lost (P-1 to P-4, P-29, P-30).
//
// In the model of the step the journal lies safe and nobody goes back. Here it is the other way round: a step is one
// order, one sum and one vote, and the spawner may end between any two entries, a stage may lose its last replica, the
// newest entry may be gone at the next start, old entries are replaced by a snapshot. A state of the weights is known
// by the commit that made it, so two histories that look alike are told apart.
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

namespace shoal::protocol::journal {

using Byte = std::uint8_t;

inline constexpr int kStages = 2;
inline constexpr int kProcesses = 3;  // 0 and 1 serve the first stage, 2 the second one
inline constexpr int kLogMax = 24;
inline constexpr int kMessagesMax = 40;
inline constexpr int kKept = 2;  // entries behind a snapshot, at least
inline constexpr int kCounterBits = 3;

[[nodiscard]] constexpr int stage_of(int process) { return process == 2 ? 1 : 0; }
[[nodiscard]] constexpr Byte byte(int value) { return static_cast<Byte>(value); }

enum Fault : Byte { kCrash, kSpawner, kTruncate, kSnapshot, kLeave, kFaults };

struct Scope {
  int replicas = 1;  // of the first stage
  int steps = 1;
  int counters = 3;  // that a group may use
  std::array<Byte, kFaults> budget{};
};

// Each can be removed, as in the model of the step.
struct Rules {
  bool vote_fence = true;
  bool order_branch = true;
  bool new_branch = true;
  bool lineage = true;
  bool ahead_ends = true;
  bool compares_terms = true;
  bool left_behind_ends = true;
  bool leaves_saved = true;
  bool leaver_gate = true;
};
struct Rule {
  std::string_view name;
  bool Rules::*flag;
  std::string_view law;
  std::string_view without;
};
[[nodiscard]] const std::vector<Rule>& all_rules();

enum class EntryKind : Byte { kNone, kAdd, kRemove, kAppoint, kCommit };

// made, from: states of the weights; of an AddReplica what it begins with, of a commit what it makes of what.
struct Entry {
  EntryKind kind;
  Byte number;   // replica or group
  Byte process;  // of a replica
  Byte stage, branch, term;
  Byte step;  // of a commit; of an AddReplica the version
  Byte made, from;
  std::array<Byte, kStages> epochs;
  [[nodiscard]] bool changes(int of_stage) const {
    return (kind == EntryKind::kAdd || kind == EntryKind::kRemove) && stage == of_stage;
  }
  friend bool operator==(const Entry&, const Entry&) = default;
};

struct Replica {
  Byte number;  // 0: none runs in this process
  Byte term;    // in which it was started
  Byte branch, version, weights;
  Byte position, read_term;  // of the journal, and of the entry read last
  Byte is_member, epoch, has_sum;
};

enum GroupPhase : Byte { kIdle, kOrdered, kVoted };
struct Group {
  Byte is_on, number, counter, phase, position, began_at;
  [[nodiscard]] int epoch() const { return number << kCounterBits | counter; }
};

enum SpawnerPhase : Byte { kDown, kReturning, kGathering, kTraining };
struct Spawner {
  Byte phase, term, branch, version, weights;  // the last two: of the start that all are gathered for
};

struct Saved {
  Byte version, weights, branch;
};

// An order of a group, a member's answer that it holds the sum, a group's vote.
enum class Kind : Byte { kOrder = 1, kReduced, kVote };
struct Message {
  Kind kind;
  Byte stage, branch, step, epoch;
  Byte number;    // of who reduced
  Byte position;  // of a vote
  Byte term;
  friend auto operator<=>(const Message&, const Message&) = default;
};

struct State {
  Byte log_size, floor;  // floor: entries up to it are a snapshot
  std::array<Entry, kLogMax> log;
  std::array<Replica, kProcesses> replicas;
  std::array<Group, kStages> groups;
  Spawner spawner;
  Saved saved, written;  // written: one that storage may complete at any time; version 0: none
  Byte next_number, commits_made;
  Byte leaver, left_from;  // the process of the last of a stage that is to leave, 0: none; the steps committed then
  std::array<Byte, kFaults> budget;
  Byte message_count;
  std::array<Message, kMessagesMax> messages;  // sorted

  bool add(const Message& message);
  void append(const Entry& entry) { log[log_size++] = entry; }
  [[nodiscard]] std::size_t size() const { return offsetof(State, messages) + message_count * sizeof(Message); }
  friend bool operator==(const State& one, const State& other) {
    return one.size() == other.size() && std::memcmp(&one, &other, one.size()) == 0;
  }
};
static_assert(std::has_unique_object_representations_v<State>, "equal states are equal bytes: fill the padding");

// The journal up to a position, as a view.
struct View {
  int branch = 0, committed = 0, weights = 0, highest = 0;
  std::array<int, kProcesses> members{};  // the number of the member in each process, 0: none
  std::array<int, kStages> groups{}, changed{};

  [[nodiscard]] bool has_members(int stage) const;
};
[[nodiscard]] View view_at(const State& state, int position);

class JournalModel {
 public:
  using State = journal::State;

  JournalModel(const Scope& searched, const Rules& kept) : scope(searched), rules(kept) {}

  [[nodiscard]] State initial() const;
  void successors(const State& state, Pace pace, Sink<State>& sink) const;
  [[nodiscard]] std::uint64_t fingerprint(const State& state) const;
  // All steps are committed, and every member of the journal has applied them.
  [[nodiscard]] bool is_finished(const State& state) const;
  // The search's journal is full.
  [[nodiscard]] bool is_exempt(const State& state) const;
  [[nodiscard]] State becalmed(const State& state) const;
  [[nodiscard]] int progress(const State& state) const;
  [[nodiscard]] bool is_fault(const State& before, const State& after) const { return before.budget != after.budget; }
  [[nodiscard]] std::string describe(const State& state) const;
  [[nodiscard]] std::string name() const;

  const Scope scope;
  const Rules rules;
};

}  // namespace shoal::protocol::journal
