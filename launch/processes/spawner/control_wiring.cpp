// The control endpoint comes to the process's one port, and is opened with it: a newcomer is never turned away.
#include "launch/processes/spawner/control_wiring.h"

#include <set>
#include <utility>

#include "launch/processes/saved_run.h"
#include "runtime/base/compose.h"
#include "runtime/base/log.h"

namespace shoal {
namespace {

// Names of live nodes are refused at the join; these belong to the run's own processes, or to peers that this process
// refuses, whom a new certificate would not help. refused: by peer_name().
Status name_allowed(const std::string& name, const std::set<std::string>& refused) {
  if (refused.contains(peer_name({{}, PeerRole::kNode, name}))) {
    return fail(Error::kRefused, compose("the name '", name, "' is refused: what its node sent has made the spawner ",
                                         "crash twice; choose another with --name"));
  }
  if (name != "spawner" && name != "storage" && name != "operator") return Done{};
  return fail(Error::kRefused,
              "the name '" + name + "' is kept for the run's own processes; choose another with --name");
}

}  // namespace

Result<std::shared_ptr<EnrolmentService>> open_enrolment(const RunDirectory& run, const Rendezvous& rendezvous,
                                                         const ActorProcess& process) {
  auto authority = Authority::open(run.certs());
  if (!authority) return authority.failure();
  EnrolmentHooks hooks;
  hooks.rendezvous = [rendezvous] { return rendezvous; };
  hooks.name_allowed = [refused = process.refused()](const std::string& name) { return name_allowed(name, refused); };
  hooks.now = [] { return std::chrono::system_clock::now(); };
  hooks.revoked = process.revoked();
  EnrolmentFiles files{run.tokens(), run.revoked(), run.issued(), run.join_token()};
  auto service = EnrolmentService::open(std::move(authority.value()), std::move(files), std::move(hooks));
  if (!service) return service.failure();
  if (auto kept = (*service)->keep_standing_token(); !kept) return kept.failure();
  return std::shared_ptr<EnrolmentService>(std::move(service.value()));
}

Result<std::shared_ptr<ControlServer>> open_control(ActorProcess& process, const PeerPolicy& people) {
  auto made = ControlServer::create(people);
  if (!made) return made.failure();
  const std::shared_ptr<ControlServer> server = std::move(*made);
  process.transport().set_control([weak = std::weak_ptr(server)](TlsSocket session) {
    if (const auto there = weak.lock()) there->take(std::move(session));
  });
  return server;
}

caf::actor start_control(ActorProcess& process, SpawnerPort& port, ControlSettings settings) {
  settings.server = std::exchange(port.first_control, nullptr);
  if (!settings.server) {
    auto server = open_control(process, port.people);
    if (!server) return log_warn("control", server.failure().message), caf::actor();
    settings.server = std::move(*server);
  }
  return as_actor(process.system().spawn<caf::detached>(control, std::move(settings)));
}

void keep_certificates(ActorProcess& process, const RunDirectory& run, const SpawnerPort& port) {
  const auto sign_as = [run](PeerRole role) {
    return [run, role](const std::string& request) { return sign_own(run, role, request); };
  };
  process.keep_certificate(port.files, sign_as(PeerRole::kSpawner), {process.transport().context()});
  process.keep_certificate(credential_files(run.certs(), "operator"), sign_as(PeerRole::kOperator), {});
}

}  // namespace shoal
