// Lanes: tensors travel beside the actor library's connection, so that what is small never waits behind what is large.
//
// A link has at most one lane, which the side opens that dialled the link, with a key that the other side gave it over
// the link. Letters with tensors, and what asks after them, go over the lane once it is open (letter_way.h); one that
// the lane cannot take now stays the caller's, which keeps it in a bounded queue until there is room (S-6). A lane that
// breaks loses what it had taken, and counts as a broken link: the protocol's retries cover that. What a lane takes
// arrives in its order; between lane and link there is none.
#pragma once

#include <cstdint>

#include "messages/codec.h"
#include "runtime/transport/links.h"

namespace caf {
class actor;
}

namespace shoal {

enum class LaneOutcome : std::uint8_t {
  kTaken,
  kFull,  // LaneChange::kRoom will tell when to try again
  kNone,  // the link has no lane (yet)
};

// Lanes of a process, which tell its user by messages (messages/local/wire.h): LaneLetter, LaneProgress, LaneChange.
// Thread-safe.
class Lanes {
 public:
  Lanes() = default;
  Lanes(const Lanes&) = delete;
  Lanes& operator=(const Lanes&) = delete;
  virtual ~Lanes() = default;

  // Sets the actor that is told, from now on.
  virtual void tell(const caf::actor& user) = 0;
  // The key with which the other side may open this link's lane; the same one for as long as the link lives. Never 0.
  [[nodiscard]] virtual std::uint64_t expect(LinkId link) = 0;
  // Opens this link's lane at the endpoint that the link was dialled at; tries again until it succeeds.
  virtual void open(LinkId link, const Endpoint& endpoint, std::uint64_t key) = 0;
  [[nodiscard]] virtual LaneOutcome send(LinkId link, EncodedLetter letter) = 0;
  // The link is over: so are its key and its lane, without a word to the user.
  virtual void close(LinkId link) = 0;
};

}  // namespace shoal
