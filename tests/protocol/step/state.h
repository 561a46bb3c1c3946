// One state of the model: every actor, the journal, the messages that may still arrive, the faults that may still come.
//
// The network is a set of messages that only grows: what was sent may be delivered late, again, out of order or never.
// A state is plain bytes, so that it can be copied, stored and hashed as such; unused bytes are zero.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <type_traits>

#include "tests/protocol/step/message.h"

namespace shoal::protocol {

using Byte = std::uint8_t;

inline constexpr int kStages = 3;            // the third one need not be
inline constexpr int kReplicasPerStage = 3;  // the third one is a joiner
inline constexpr int kReplicas = kStages * kReplicasPerStage;
inline constexpr int kMicrobatchesMax = 2;
inline constexpr int kLogMax = 10;
inline constexpr int kMessagesMax = 120;
inline constexpr int kLoader = 15;     // the data loader, as a sender or receiver
inline constexpr int kNobody = 15;     // no hop
inline constexpr int kNoVersion = 15;  // of a joiner that has copied nothing yet
inline constexpr int kCounterBits = 5;

[[nodiscard]] constexpr int stage_of(int replica) { return replica / kReplicasPerStage; }
[[nodiscard]] constexpr int first_of(int stage) { return stage * kReplicasPerStage; }
[[nodiscard]] constexpr int mask_of(int stage) { return 7 << first_of(stage); }
[[nodiscard]] constexpr bool is_joiner(int replica) { return replica % kReplicasPerStage == kReplicasPerStage - 1; }
[[nodiscard]] constexpr Byte byte(int value) { return static_cast<Byte>(value); }
[[nodiscard]] constexpr bool is_in(int mask, int index) { return (mask >> index & 1) != 0; }

// An entry of the journal (P-1), as far as the step needs it.
class Entry {
 public:
  [[nodiscard]] static constexpr Entry commit(const std::array<int, kStages>& epochs) {
    int bits = kCommit << kKindBit;
    for (int stage = 0; stage < kStages; ++stage) bits |= epochs[stage] << kEpochBits * stage;
    return Entry(bits);
  }
  [[nodiscard]] static constexpr Entry remove(int replica) { return Entry(kRemoval << kKindBit | replica); }
  [[nodiscard]] static constexpr Entry add(int replica) { return Entry(kAddition << kKindBit | replica); }
  [[nodiscard]] static constexpr Entry quarantine(int microbatch) {
    return Entry(kQuarantined << kKindBit | microbatch);
  }
  constexpr Entry() = default;

  [[nodiscard]] constexpr bool is_commit() const { return bits_ >> kKindBit == kCommit; }
  [[nodiscard]] constexpr bool is_removal() const { return bits_ >> kKindBit == kRemoval; }
  [[nodiscard]] constexpr bool is_quarantine() const { return bits_ >> kKindBit == kQuarantined; }
  [[nodiscard]] constexpr bool is_addition() const { return bits_ >> kKindBit == kAddition; }
  [[nodiscard]] constexpr int replica() const { return static_cast<int>(bits_ & 15); }
  [[nodiscard]] constexpr int microbatch() const { return static_cast<int>(bits_ & 1); }
  [[nodiscard]] constexpr int epoch_of(int stage) const {
    return static_cast<int>(bits_ >> kEpochBits * stage & ((1 << kEpochBits) - 1));
  }
  // Adds or removes a member of this stage, or changes the plan of all.
  [[nodiscard]] constexpr bool changes(int stage) const {
    return is_quarantine() || (!is_commit() && stage_of(replica()) == stage);
  }
  friend constexpr bool operator==(const Entry&, const Entry&) = default;

 private:
  static constexpr int kCommit = 1, kRemoval = 2, kAddition = 3, kQuarantined = 4;
  static constexpr int kKindBit = 24, kEpochBits = 7;
  explicit constexpr Entry(int bits) : bits_(static_cast<std::uint32_t>(bits)) {}
  std::uint32_t bits_ = 0;
};

enum Phase : Byte { kOpen, kFrozen, kReduced };
enum Ledger : Byte { kNone, kInFlight, kAccumulated };
enum GroupPhase : Byte { kSilent, kPreparing, kReducing, kVoted, kOpened, kZeroed };

enum Request : Byte { kNotSent, kAsked, kAnswered };

// Forwards that a router keeps for one requester: a replica, or the data loader (P-11 to P-13).
struct Requests {
  std::array<Byte, kMicrobatchesMax> state;
  std::array<Byte, kMicrobatchesMax> hop;          // kNobody of an asked one: a substitute is to be picked
  std::array<Byte, kMicrobatchesMax> answered_by;  // another one than the hop, if that was changed meanwhile

  void clear();
  void forget(int microbatch);
};

struct Replica {
  Byte is_alive, position, version, epoch, phase;
  Byte emptied;  // the epoch since which no Zero up to it concerns the accumulators (P-16b); 0: before all of the step
  std::array<Byte, kMicrobatchesMax> ledger,
      accumulated;  // accumulated: how often, at most 3
  Byte is_stale;    // the accumulators hold a gradient of other weights
  std::array<Byte, kMicrobatchesMax> sum;
  Byte is_sum_stale;
  std::array<Byte, kMicrobatchesMax> waiters;  // of the stage before, one bit each: they are answered together
  std::array<Byte, kMicrobatchesMax> kept;  // an answer that came while it was not open (P-7): none, one, a stale one
  Requests requests;

  void clear();
  void begin_step();
  [[nodiscard]] int manifest() const { return int{ledger[0] == kAccumulated} | int{ledger[1] == kAccumulated} << 1; }
};

// A map of holders: two bits per microbatch, the replica within its stage or kNoHolder (P-14a).
inline constexpr int kNoHolder = 3;
inline constexpr int kNoHolders = 15;
[[nodiscard]] constexpr int holder_in(int map, int microbatch) { return map >> (2 * microbatch) & 3; }
[[nodiscard]] constexpr int with_holder(int map, int microbatch, int replica) {
  return (map & ~(3 << (2 * microbatch))) | replica << (2 * microbatch);
}

struct Group {
  Byte is_on, incarnation, counter, phase, position;
  Byte began_at;              // the position where its epoch began
  Byte missing;               // what it asks for again while it is open (P-17), one bit per microbatch
  Byte last_zero;             // the counter of the step's last one, 0: none (P-16b)
  Byte is_survey, was_asked;  // its Prepare is a survey; the data loader waits for its answer (P-14a)
  [[nodiscard]] int epoch() const { return incarnation << kCounterBits | counter; }
  void begin_step();
};

struct Loader {
  Byte position;
  Requests requests;
  Byte answered;   // one bit per microbatch, until the commit (P-14)
  Byte is_asking;  // after a start it asks who holds what, and sends nothing
  Byte heard;      // which stages have answered
  std::array<Byte, kStages> held;
};

enum Fault : Byte {
  kCrash,
  kSuspect,
  kRetry,
  kLoaderCrash,
  kGroupCrash,
  kSpawner,
  kJoin,
  kAbort,
  kZombie,
  kEarly,
  kQuarantine,
  kLeave,
  kFaults
};

struct State {
  std::array<Entry, kLogMax> log;
  // Used without journal_first: a commit that was sent and is not in the journal, and what was acted upon.
  Entry unwritten;
  std::array<Entry, 2> applied;
  std::array<Byte, 2> was_applied;
  Byte has_unwritten;
  Byte log_size;
  std::uint16_t first_members;             // one bit per replica, as the run began
  std::array<Byte, kStages> incarnations;  // of the group appointed last
  std::array<Group, 2 * kStages> groups;  // those behind kStages: groups that were replaced, live on and do not know it
  Loader loader;
  std::array<Replica, kReplicas> replicas;
  std::array<Byte, kFaults> budget;
  Byte unused;
  Byte message_count;
  std::array<std::uint32_t, kMessagesMax> messages;  // sorted

  [[nodiscard]] Message message(int index) const { return Message(messages[index]); }
  [[nodiscard]] bool has(Message message) const;
  bool add(Message message);  // false: it was there
  void drop(Message message);
  // Data loader and groups live in one process: what they tell each other is delivered, unless a receiver ends.
  void drop_all_but_local();
  void drop_local();
  void append(Entry entry) { log[log_size++] = entry; }

  // Reads the first `position` entries of the journal.
  [[nodiscard]] int members_at(int position) const;
  [[nodiscard]] int commits_at(int position) const;
  // The microbatches that are quarantined in the step in progress, one bit each (P-20a).
  [[nodiscard]] int left_out_at(int position) const;
  [[nodiscard]] int members() const { return members_at(log_size); }
  [[nodiscard]] int commits() const { return commits_at(log_size); }
  [[nodiscard]] bool was_added(int replica) const;

  friend bool operator==(const State& one, const State& other) {
    return one.size() == other.size() && std::memcmp(&one, &other, one.size()) == 0;
  }
  // The bytes that are in use, from the start of the object.
  [[nodiscard]] std::size_t size() const { return offsetof(State, messages) + message_count * sizeof(std::uint32_t); }
};

static_assert(std::has_unique_object_representations_v<State>, "equal states are equal bytes: fill the padding");

// The requests of a replica or of the data loader, and the position to which it has read the journal.
[[nodiscard]] Requests& requests_of(State& state, int requester);
[[nodiscard]] const Requests& requests_of(const State& state, int requester);
[[nodiscard]] int position_of(const State& state, int requester);

// The message that an actor repeats in its state: a group's order in force, its vote, a frozen member's part.
[[nodiscard]] std::optional<Message> order_of(const State& state, int group);
[[nodiscard]] Message vote_of(const State& state, int group);
[[nodiscard]] Message part_of(const State& state, int replica);

// The epoch of the Zero that a Prepare names, 0: none (P-16b).
[[nodiscard]] int last_zero_of(Message prepare);

// The names of the replicas, of nobody and of the data loader in a story.
[[nodiscard]] const char* name_of(int replica);

}  // namespace shoal::protocol
