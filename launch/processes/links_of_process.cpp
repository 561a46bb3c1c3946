// Binds routers to the transport.
#include "launch/processes/links_of_process.h"

#include <random>

#include "launch/life_line.h"

namespace shoal {

RouterConfig router_config(ActorProcess& process, ProcessRole role, const std::string& name,
                           const Rendezvous& rendezvous) {
  RouterConfig config;
  config.self.role = role;
  config.self.name = name;
  config.self.run = rendezvous.run;
  config.self.term = rendezvous.term;
  if (role == ProcessRole::kSpawner) {
    config.self.process = kSpawnerProcess;
  } else {
    config.spawner = Endpoint{};  // known by config.spawner_dialler alone
    config.lanes = process.transport().lanes();
  }
  config.dialler = [transport = &process.transport()](const Endpoint& endpoint) {
    return caf::actor_cast<caf::actor>(transport->dialler(endpoint.host, endpoint.port));
  };
  config.certified = [transport = &process.transport()](const caf::node_id& node) {
    return transport->identity_of(node);
  };
  config.unanswered = [transport = &process.transport()](const caf::node_id& node) {
    return transport->unanswered(node);
  };
  if (role != ProcessRole::kSpawner) {
    config.revoked = [list = process.revoked()](const Revocations& told) {
      list->take(told, std::chrono::steady_clock::now());
    };
  }
  config.certificate_of = [transport = &process.transport()](const caf::node_id& node) {
    return transport->certificate_of(node);
  };
  // The run gives up a process that is silent for so long; its keeper starts it again then.
  config.ticked = [allowed = rendezvous.dead_after] { show_life(allowed); };
  config.jitter_seed = std::random_device{}();
  return config;
}

std::shared_ptr<RevokedCertificates> revoked_by(const Rendezvous& rendezvous) {
  auto list = std::make_shared<RevokedCertificates>();
  list->take(rendezvous.revoked, std::chrono::steady_clock::now());
  return list;
}

}  // namespace shoal
