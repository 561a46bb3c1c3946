// The handshake ends before a client's certificate is looked at (TLS 1.3), so the other side's is known by then.
#include "runtime/transport/control/answerer.h"

#include "runtime/base/compose.h"
#include "runtime/transport/certificates.h"
#include "runtime/transport/openssl_handles.h"
#include "runtime/transport/tls_socket.h"

namespace shoal {
namespace {

constexpr std::chrono::milliseconds kAnswerWithin{2000};

std::string whom_to_name(PeerRole wanted) { return wanted == PeerRole::kSpawner ? "the spawner" : "storage"; }

}  // namespace

std::optional<Answerer> who_answers(const HostPort& address) {
  const Deadline deadline = deadline_in(kAnswerWithin);
  auto socket = dial(address, deadline);
  if (!socket) return std::nullopt;
  const auto context = TlsContext::newcomer();
  if (!context) return Answerer{};
  const auto tls = TlsSocket::connect(std::move(*socket), **context, deadline, PortProtocol::kLink);
  if (!tls) return Answerer{};
  const X509Ptr certificate(SSL_get1_peer_certificate(tls->session()));
  if (!certificate) return Answerer{};
  auto identity = identity_of(certificate.get());
  return identity ? Answerer{std::move(*identity)} : Answerer{};
}

std::string words_on(const Answerer& answerer, const HostPort& address, PeerRole wanted) {
  const std::string where = host_port_text(address);
  if (!answerer.shown) {
    return compose(
        "something answers at ", where, ", and not as ", whom_to_name(wanted),
        " does: are host and port right? If they are, it hangs, or a proxy or firewall answers in its place");
  }
  if (answerer.shown->role == wanted) return {};
  switch (answerer.shown->role) {
    case PeerRole::kStorage:
      return compose("storage of a run answers at ", where, "; the spawner is at the port before it (",
                     host_port_text({address.host, static_cast<std::uint16_t>(address.port - 1)}),
                     ") if it was started with --listen HOST:PORT");
    case PeerRole::kSpawner:
      return compose("the spawner of a run answers at ", where, ", and not ", whom_to_name(wanted));
    default:
      return compose(answerer.shown->name, ", a node of a run, answers at ", where, ", and not ", whom_to_name(wanted),
                     ": `shoal status` and the line that the spawner printed have the spawner's address");
  }
}

}  // namespace shoal
