// A client without certificate is refused only after the server has named the protocol: that is answer enough.
#include "runtime/transport/control/join_trials.h"

#include "runtime/base/compose.h"
#include "runtime/base/text/open_port.h"
#include "runtime/transport/control/answerer.h"
#include "runtime/transport/tls_socket.h"

namespace shoal {
namespace {

constexpr std::chrono::milliseconds kTrialWithin{3000};

}  // namespace

Result<std::vector<JoinTrial>> join_trials(const HostPort& spawner) {
  const auto storage = with_port_after(spawner, 1);
  if (!storage) return storage.failure();
  const std::string opened = open_port_text(spawner.host, spawner.port) + " for this machine";
  return std::vector<JoinTrial>{
      {"enrolment at the spawner", spawner, PortProtocol::kControl, opened + "; is the spawner there?"},
      {"link with the spawner", spawner, PortProtocol::kLink, opened + ", also for TLS that is no HTTPS"},
      {"lane to the spawner", spawner, PortProtocol::kLane, opened + ", also for TLS that is no HTTPS"},
      {"link with storage", *storage, PortProtocol::kLink,
       open_port_text(storage->host, storage->port) +
           " for this machine; a spawner without --listen HOST:PORT has storage at any port",
       PeerRole::kStorage},
      {"lane to storage", *storage, PortProtocol::kLane,
       open_port_text(storage->host, storage->port) + " for this machine, also for TLS that is no HTTPS",
       PeerRole::kStorage}};
}

std::string remedy_of(const JoinTrial& trial) {
  const auto answerer = who_answers(trial.address);
  std::string words = answerer ? words_on(*answerer, trial.address, trial.whom) : std::string();
  return words.empty() ? trial.remedy : words;
}

Status attempt(const JoinTrial& trial) {
  const Deadline deadline = deadline_in(kTrialWithin);
  auto socket = dial(trial.address, deadline);
  if (!socket) return socket.failure();
  const auto context = TlsContext::newcomer();
  if (!context) return context.failure();
  const auto session = TlsSocket::connect(std::move(*socket), **context, deadline, trial.protocol);
  if (!session) {
    return fail(Error::kUnreachable, compose(host_port_text(trial.address), ": ", session.failure().message));
  }
  if (is_agreed(session->session(), trial.protocol)) return Done{};
  return fail(Error::kUnreachable, compose("What answers at ", host_port_text(trial.address), " does not speak ",
                                           protocol_name(trial.protocol), "."));
}

}  // namespace shoal
