// Makes a router's messages about state that crosses its links: how far it has come, and what a broken link may lose.
//
// Images and shards are the largest letters there are; on a slow way they take many minutes, in which nobody else sees
// that anything moves. Whoever waits for one is told by StateProgress. A shard that was given to a link which breaks
// may have been lost with it: then whoever ordered it is told at once, by StateUnavailable, unless further pieces of it
// followed, which storage asks for again itself; of a sum, or a mean that a member missed, the replica here that gave
// it. A part of a sum that comes is told by Progress; a Forward or Backward whose way is slow, to whoever waits for
// that answer, as being worked on. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "messages/letter.h"
#include "runtime/base/clock.h"

namespace shoal {

// Tells about a letter of whose tensors so many bytes have come, since its first one in `took`. An image or a sum, or a
// part: the replica here that it is for; a shard: the supervisor. Nothing: nobody waits for such a letter.
[[nodiscard]] std::optional<Letter> progress_of(const Letter& arriving, std::uint64_t received, Duration took);

// Keeps what was given to one link and is told of when it breaks: the newest shard of each replica of which no more
// than the first piece was sent, and the newest sum for each.
class StateSent {
 public:
  void add(const Letter& letter);
  // The link is over: the letters that tell of it.
  [[nodiscard]] std::vector<Letter> lost() const;

 private:
  void add(const SaveShard& shard);

  struct Sum {
    Incarnation donor;
    std::uint64_t step = 0;
  };
  std::map<Incarnation, std::uint64_t> shards_;  // at most kReplicasMax of each
  std::map<Incarnation, Sum> sums_;
};

}  // namespace shoal
