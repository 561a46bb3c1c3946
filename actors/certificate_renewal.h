// Renews the certificate of a process while it runs: before it expires it is exchanged for another one of the same key,
// which is written to its file and shown in every new connection from then on.
//
// A detached actor: the signer may be far away, and is asked again. Nothing of training waits for it.
#pragma once

#include <caf/actor.hpp>
#include <caf/actor_system.hpp>
#include <memory>
#include <vector>

#include "runtime/transport/certificates.h"
#include "runtime/transport/control/renewal.h"
#include "runtime/transport/tls_context.h"

namespace shoal {

struct RenewalSettings {
  TlsFiles files;
  Credentials credentials;                            // as this process has read them
  SignRequest sign;                                   // called on the actor's own thread
  std::vector<std::shared_ptr<TlsContext>> shown_by;  // these show it in new connections; none: others read the file
};

[[nodiscard]] caf::actor spawn_certificate_renewal(caf::actor_system& system, RenewalSettings settings);

}  // namespace shoal
