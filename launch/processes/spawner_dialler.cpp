// One question per dial; what was found is dialled by the transport, which answers the router itself.
#include "launch/processes/spawner_dialler.h"

#include <memory>
#include <set>
#include <string>

#include "runtime/base/log.h"

namespace shoal {
namespace {

using namespace std::chrono_literals;

constexpr ControlTimeouts kAskTimeouts{1500ms, 1500ms};

struct SearchState {
  static inline const char* name = "spawner_dialler";
  SpawnerSearch search;
  std::shared_ptr<ExitLatch> exit;
  std::size_t next = 0;  // the endpoint to ask
};

using Self = caf::stateful_actor<SearchState>;
using Dialled = caf::result<caf::node_id, caf::strong_actor_ptr, std::set<std::string>>;

struct Found {
  Rendezvous rendezvous;
  HostPort address;
};

Result<Found> ask(SearchState& state) {
  const auto endpoints = state.search.endpoints();
  if (endpoints.empty()) return fail(Error::kUnreachable, "no spawner is named yet");
  const HostPort& address = endpoints[state.next % endpoints.size()];
  const auto client = ControlClient::create(state.search.files, address, kAskTimeouts);
  if (!client) return client.failure();
  auto connection = client->connect();
  auto rendezvous = connection ? connection->rendezvous() : connection.failure();
  if (!rendezvous) ++state.next;
  // The spawner itself has said so: there is nothing to look for.
  if (connection && connection->has_revoked_us()) {
    state.exit->set(exit_code(Error::kRefused), rendezvous.failure().message);
  }
  if (!rendezvous) return rendezvous.failure();
  return Found{std::move(*rendezvous), address};
}

Dialled find_and_dial(Self* self, TlsTransport& transport) {
  const auto found = ask(self->state);
  if (!found) {
    log_debug("spawner_dialler", found.failure().message);
    return caf::make_error(caf::sec::cannot_connect_to_node);
  }
  self->state.search.revoked->take(found->rendezvous.revoked, std::chrono::steady_clock::now());
  // Started again as another version: no link would hold, and the weights here are of no use to it.
  if (const auto status = check_protocol(found->rendezvous); !status) {
    self->state.exit->set(exit_code(status.failure().error), status.failure().message);
    return caf::make_error(caf::sec::cannot_connect_to_node);
  }
  const HostPort& port = found->address;
  return self->delegate(transport.dialler(port.host, port.port), caf::connect_atom_v, port.host, port.port);
}

caf::behavior spawner_dialler(Self* self, SpawnerSearch search, std::shared_ptr<ExitLatch> exit,
                              TlsTransport* transport) {
  self->state.search = std::move(search);
  self->state.exit = std::move(exit);
  return {[self, transport](caf::connect_atom, const std::string&, std::uint16_t) -> Dialled {
    return find_and_dial(self, *transport);
  }};
}

}  // namespace

caf::actor spawn_spawner_dialler(ActorProcess& process, SpawnerSearch search) {
  search.revoked = process.revoked();
  const auto actor =
      process.system().spawn<caf::detached>(spawner_dialler, std::move(search), process.exit(), &process.transport());
  process.own(actor);
  return actor;
}

}  // namespace shoal
