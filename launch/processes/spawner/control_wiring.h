// How others reach the spawner's process: its port, the service that admits newcomers, and the control endpoint.
//
// The endpoint is opened with the port and serves later: what comes meanwhile waits.
#pragma once

#include <memory>
#include <string>

#include "actors/control.h"
#include "launch/processes/actor_process.h"
#include "launch/processes/run_directory.h"
#include "runtime/transport/control/enrolment.h"

namespace shoal {

// The port at which others reach this process, and the credentials that it shows there.
struct SpawnerPort {
  TlsFiles files;
  PeerPolicy people;  // may use the control endpoint
  Socket listener;    // until the transport has it
  SpawnerAddress found;
  std::shared_ptr<RevokedCertificates> revoked;
  std::shared_ptr<ControlServer> first_control{};  // from the opening of the port on, until the first actor has it
};

// Opens the service that admits newcomers, and keeps the token of the line to paste.
[[nodiscard]] Result<std::shared_ptr<EnrolmentService>> open_enrolment(const RunDirectory& run,
                                                                       const Rendezvous& rendezvous,
                                                                       const ActorProcess& process);

// Opens a control endpoint that has what comes to the port from now on; before it serves, that waits.
[[nodiscard]] Result<std::shared_ptr<ControlServer>> open_control(ActorProcess& process, const PeerPolicy& people);

// Starts a control actor. The first one has the endpoint that was opened with the port; a later one opens its own.
[[nodiscard]] caf::actor start_control(ActorProcess& process, SpawnerPort& port, ControlSettings settings);

// Renews the certificates of this process and of the person who gives orders; storage has its own.
void keep_certificates(ActorProcess& process, const RunDirectory& run, const SpawnerPort& port);

}  // namespace shoal
