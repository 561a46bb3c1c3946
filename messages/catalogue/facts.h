// Reads the catalogue (rows.h): the facts of a message, by its type or by a body that holds it. All of them are
// constants; only the sender and the tensors are read off the message itself.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "messages/letter.h"

namespace shoal {

// Roles of processes, as a set.
enum class Sayer : std::uint8_t {
  kNobody = 0,  // the message never leaves its process
  kSpawner = 1,
  kNode = 2,
  kStorage = 4,
  kNewcomer = 8 | kNode | kStorage,  // also a process that has no number yet
  kAnybody = kNewcomer | kSpawner,
};

enum class MessageWay : std::uint8_t { kLink, kLane, kTensors };

enum class SenderField : std::uint8_t {
  kNobody,
  kProcess,   // `process`
  kSender,    // `sender`, a replica or the data loader
  kMember,    // `member`, a replica
  kReplica,   // `replica`
  kBoth,      // `process` and `replica`
  kDonor,     // `donor`, a replica that gives a state, or cannot; 0: storage
  kReceiver,  // `replica`, which says how much of a state it has got; storage says it of shards, in no replica's name
};

enum class WhenLost : std::uint8_t { kAgain, kOnce };

// Actors, as a set.
enum class Hearer : std::uint16_t {
  kLink = 0,  // no actor: the link that it comes over reads it
  kRouter = 1,
  kSupervisor = 2,
  kDataLoader = 4,
  kSyncGroup = 8,
  kMetrics = 16,
  kNodeAgent = 32,
  kStage = 64,
  kStorage = 128,
  kTracer = 256,
  kEveryActor = 511,
};

template <class Set>
requires std::is_same_v<Set, Sayer> || std::is_same_v<Set, Hearer>
[[nodiscard]] constexpr Set operator|(Set one, Set other) {
  return static_cast<Set>(static_cast<unsigned>(one) | static_cast<unsigned>(other));
}

// Says if the set holds all of `some`.
template <class Set>
requires std::is_same_v<Set, Sayer> || std::is_same_v<Set, Hearer>
[[nodiscard]] constexpr bool includes(Set set, Set some) { return (set | some) == set; }

// The column by type, for what is decided when it is compiled: actors' interfaces and handlers.
template <class Message>
inline constexpr Hearer kHearers = Hearer::kLink;
#define SHOAL_HEARERS(Type, said_by, way, sender, lost, counts_as, heard_by) \
  template <>                                                                \
  inline constexpr Hearer kHearers<Type> = [] {                              \
    using enum Hearer;                                                       \
    return heard_by;                                                         \
  }();
SHOAL_MESSAGES(SHOAL_HEARERS)
#undef SHOAL_HEARERS

struct MessageFacts {
  std::string_view name;  // its type's name
  Sayer said_by = Sayer::kNobody;
  MessageWay way = MessageWay::kLink;
  WhenLost when_lost = WhenLost::kAgain;
  std::uint64_t ByteCounts::*counts_as = nullptr;
  Hearer heard_by = Hearer::kLink;
};

[[nodiscard]] const MessageFacts& facts_of(const MessageBody& body);

// Returns the sender that the body names; none: the message names no process, or no replica. Incarnation{} is the data
// loader.
[[nodiscard]] std::optional<ProcessIncarnation> sending_process(const MessageBody& body);
[[nodiscard]] std::optional<Incarnation> sending_replica(const MessageBody& body);
// Says if storage, and no replica, is named as the giver of a state; none: the message is about no state that is given.
[[nodiscard]] std::optional<bool> is_given_by_storage(const MessageBody& body);

// Bytes of all tensors in the body.
[[nodiscard]] std::uint64_t tensor_bytes(const MessageBody& body);
[[nodiscard]] bool has_tensor(const MessageBody& body);
// Tensors in it that have to be copied to the host before it leaves the process.
[[nodiscard]] std::vector<std::shared_ptr<const ResidentTensor>> residents_of(const MessageBody& body);
// Puts the copy, a tensor in host form or none, in the place of the resident one. False: the body does not have it.
bool bring_to_host(MessageBody& body, const std::shared_ptr<const ResidentTensor>& resident, const TensorBlob& copy);

}  // namespace shoal
