// Which field of a body names its sender.
#include "runtime/cluster/watch/sender_check.h"

#include <optional>

namespace shoal {
namespace {

template <class Body, class... Others>
constexpr bool is_any_of = (std::is_same_v<Body, Others> || ...);

// Nothing: the body names no replica as its sender.
std::optional<Incarnation> claimed_sender(const MessageBody& body) {
  return std::visit(
      [](const auto& message) -> std::optional<Incarnation> {
        using Body = std::decay_t<decltype(message)>;
        if constexpr (is_any_of<Body, Forward, Backward, Refusal, Ask, AskAnswer>) return message.sender;
        if constexpr (is_any_of<Body, Manifest, Reduced, Part, PartsSent, MissingParts, Progress>)
          return message.member;
        if constexpr (is_any_of<Body, StageReady, StageEnded, FetchState, SaveShard, ReplicaReport>) {
          return message.replica;
        }
        // Of a shard it is storage that speaks.
        if constexpr (std::is_same_v<Body, StateProgress>) {
          return message.is_shard ? std::nullopt : std::optional(message.replica);
        }
        return std::nullopt;
      },
      body);
}

}  // namespace

bool is_replica_its_own(const View& view, ProcessIncarnation from, const MessageBody& body) {
  const auto claimed = claimed_sender(body);
  if (!claimed) return true;
  if (*claimed == Incarnation{}) return from == kSpawnerProcess;
  const auto member = view.find(*claimed);
  return !member || member->process == from;
}

}  // namespace shoal
