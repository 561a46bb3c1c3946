// Wired as the spawner process wires it.
#include "tests/runtime/transport/control/control_port.h"

#include <utility>

namespace shoal::test_support {
namespace {

TransportLimits limits_like(const ControlLimits& control) {
  TransportLimits limits;
  limits.admission = control.admission;
  return limits;
}

}  // namespace

ControlPort::ControlPort(const TlsFiles& files, PeerPolicy policy, const ControlLimits& limits)
    : process_(files, policy, limits_like(limits)),
      server_(std::move(ControlServer::create(std::move(policy), limits).value())),
      port_(process_.publish()) {
  process_.transport().set_control([weak = std::weak_ptr(server_)](TlsSocket session) {
    if (const auto server = weak.lock()) server->take(std::move(session));
  });
}

}  // namespace shoal::test_support
