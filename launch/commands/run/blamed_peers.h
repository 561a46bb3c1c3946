// A keeper's judgement of a ward that crashed while it read what a peer had sent (runtime/transport/guard/peer_note.h):
// one peer must not spend the restarts of a process that others need.
#pragma once

#include <string>

#include "launch/keeper.h"

namespace shoal {

// Takes the ward's note, counts the crash for the peer that it names, and leaves to the ward's next life, beside
// the note, the peers to refuse. The text that excuses the ward says so, too.
[[nodiscard]] Ward::Excuse blame_peers(std::string ward, std::string note);

}  // namespace shoal
