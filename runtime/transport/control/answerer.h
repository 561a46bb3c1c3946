// Names the process that answers at the address of the spawner or storage: an open port of another process is no
// closed one, and "open TCP port ..." is the wrong remedy then.
//
// A process of a run shows its certificate to every peer that asks for a link. It is not verified here, so it becomes
// words for a person and decides nothing.
#pragma once

#include <optional>
#include <string>

#include "runtime/transport/identity.h"
#include "runtime/transport/sockets.h"

namespace shoal {

// Tells what was found at an address; nothing shown: something that is no process of a run, or that does not say.
struct Answerer {
  std::optional<PeerIdentity> shown;
};

// Dials, asks for a link and reads the certificate, without one of its own. Nothing: no connection comes about.
[[nodiscard]] std::optional<Answerer> who_answers(const HostPort& address);

// Returns one sentence with the remedy for whoever looked for the process of that role, the spawner or storage; empty
// where it is the one that answers. Pure.
[[nodiscard]] std::string words_on(const Answerer& answerer, const HostPort& address, PeerRole wanted);

}  // namespace shoal
