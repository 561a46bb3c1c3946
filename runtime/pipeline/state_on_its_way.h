// What a router says of state that crosses its links: how far it has come, and that a broken link may have lost it.
//
// Images and shards are the largest letters there are; on a slow way they take many minutes, in which nobody else sees
// that anything moves. Whoever waits for one is told by StateProgress. A shard that was given to a link which breaks
// may have been lost with it: then whoever ordered it is told at once, by StateUnavailable. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "messages/letter.h"

namespace shoal {

// Of a letter of whose tensors so many bytes have come: what to tell whom. An image or a sum: the replica here that it
// is for; a shard: the supervisor. Nothing: nobody waits for such a letter.
[[nodiscard]] std::optional<Letter> progress_of(const Letter& arriving, std::uint64_t received);

// The shards that were given to one link, the newest of each replica.
class ShardsSent {
 public:
  void add(const SaveShard& shard);
  // The link is over: the letters that tell the supervisor.
  [[nodiscard]] std::vector<Letter> lost() const;

 private:
  std::map<Incarnation, std::uint64_t> steps_;  // at most kReplicasMax
};

}  // namespace shoal
