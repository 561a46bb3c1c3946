// One question, one connection: nothing to keep alive, nothing stale after the spawner moved or restarted.
#include "runtime/transport/control/control_client.h"

#include <charconv>

#include "messages/cause.h"
#include "runtime/base/compose.h"
#include "runtime/transport/control/exchange.h"

namespace shoal {
namespace {

constexpr std::size_t kAnswerBytesMax = 64u << 20;

Failure at(const HostPort& address, const Failure& failure) {
  return fail(failure.error, compose(host_port_text(address), ": ", failure.message));
}

Error error_of(int status) {
  switch (status) {
    case 400:
    case 404:
    case 405:
    case 413: return Error::kUsage;
    case 403:
    case 409:
    case kStatusRevoked:
    case 426: return Error::kRefused;
    case 503: return Error::kUnreachable;
    default: return Error::kInternal;
  }
}

Result<TlsSocket> open_connection(const HostPort& spawner, const TlsContext& context, const ControlTimeouts& timeouts) {
  const Deadline deadline = deadline_in(timeouts.connect);
  auto socket = dial(spawner, deadline);
  if (!socket.ok()) return socket.failure();
  auto tls = TlsSocket::connect(std::move(*socket), context, deadline);
  if (!tls.ok()) return at(spawner, tls.failure());
  return tls;
}

// The answer, of whatever status.
Result<ControlResponse> exchange(TlsSocket& tls, const std::string& request, Deadline deadline) {
  const Status written = tls.write_all(request, deadline);
  // A server that refuses our certificate says so in an alert, which may overtake what we write: read it first.
  HttpReader reader(HttpLimits{.body_bytes_max = kAnswerBytesMax});
  const auto progress = read_message(tls, reader, deadline);
  if (!progress.ok())
    return written.ok() || progress.failure().error == Error::kRefused ? progress.failure() : written.failure();
  const std::string& digits = reader.message().second;
  int status = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), status);
  if (*progress != HttpReader::Progress::kComplete || parsed.ec != std::errc()) {
    return fail(Error::kUnreachable, "What answers there is not a control endpoint.");
  }
  return ControlResponse{status, reader.message().body};
}

Result<ControlResponse> as_asked_for(Result<ControlResponse> response) {
  if (!response.ok() || response->status == 200) return response;
  return fail(error_of(response->status), error_sentence(response->body));
}

}  // namespace

Result<Enrolled> enrol(const HostPort& spawner, const JoinToken& token, const std::string& name,
                       std::uint32_t protocol_version, const ControlTimeouts& timeouts) {
  auto key = make_key_and_csr(name);
  if (!key.ok()) return key.failure();
  const auto context = TlsContext::newcomer();
  if (!context.ok()) return context.failure();
  auto tls = open_connection(spawner, **context, timeouts);
  if (!tls.ok()) return tls.failure();
  const Status pinned = check_pinned(tls->session(), token.ca, token.run);
  if (!pinned.ok()) return at(spawner, pinned.failure());

  const std::string body = enrolment_request_text({token.secret, name, key->request, protocol_version});
  const std::string request = request_text("POST", kEnrolPath, host_port_text(spawner), body);
  const auto response = as_asked_for(exchange(*tls, request, deadline_in(timeouts.answer)));
  if (!response.ok()) return at(spawner, response.failure());
  auto answer = parse_enrolment_answer(response->body);
  if (!answer.ok()) return at(spawner, answer.failure());
  const auto authority = fingerprint_of(answer->ca);
  if (!authority.ok() || *authority != token.ca) {
    return at(spawner, fail(Error::kInvalidData, "The spawner's answer names another certificate authority."));
  }
  return Enrolled{Credentials{std::move(answer->ca), std::move(answer->certificate), std::move(key->key)},
                  std::move(answer->rendezvous)};
}

Result<ControlClient> ControlClient::create(const TlsFiles& files, const HostPort& spawner,
                                            const ControlTimeouts& timeouts) {
  const auto credentials = read_credentials(files);
  if (!credentials.ok()) return credentials.failure();
  const auto own = identity_of(credentials->certificate);
  if (!own.ok()) return fail(Error::kInvalidData, compose(files.certificate, ": ", own.failure().message));
  auto context = TlsContext::mutual(files, PeerPolicy{own->run, {PeerRole::kSpawner}, nullptr});
  if (!context.ok()) return context.failure();
  return ControlClient(std::move(*context), spawner, timeouts);
}

Result<ControlConnection> ControlClient::connect() const {
  auto tls = open_connection(spawner_, *context_, timeouts_);
  if (!tls.ok()) return tls.failure();
  const auto peer = context_->check_peer(tls->session());
  if (!peer.ok()) return at(spawner_, peer.failure());
  return ControlConnection(std::move(*tls), spawner_, timeouts_.answer);
}

Result<ControlResponse> ControlClient::get(const std::string& target) const {
  auto connection = connect();
  if (!connection.ok()) return connection.failure();
  return connection->get(target);
}

Result<ControlResponse> ControlClient::post(const std::string& target, const std::string& body) const {
  auto connection = connect();
  if (!connection.ok()) return connection.failure();
  return connection->post(target, body);
}

Result<Rendezvous> ControlClient::rendezvous() const {
  auto connection = connect();
  if (!connection.ok()) return connection.failure();
  return connection->rendezvous();
}

Result<std::string> ControlClient::renew(const std::string& request) const {
  const auto response = post(std::string(kRenewPath), renewal_request_text(request));
  if (!response.ok()) return response.failure();
  return parse_renewal_answer(response->body);
}

Result<Rendezvous> ControlConnection::rendezvous() {
  const auto response = get(std::string(kRendezvousPath));
  if (!response.ok()) return response.failure();
  return parse_rendezvous(response->body);
}

Result<ControlResponse> ControlConnection::ask(const std::string& method, const std::string& target,
                                               const std::string& body) {
  auto answer =
      exchange(socket_, request_text(method, target, host_port_text(spawner_), body), deadline_in(answer_within_));
  if (answer.ok()) status_ = answer->status;
  auto response = as_asked_for(std::move(answer));
  if (!response.ok()) return at(spawner_, response.failure());
  return response;
}

Status check_protocol(const Rendezvous& rendezvous) {
  if (rendezvous.protocol_version == kProtocolVersion) return Done{};
  return fail(Error::kRefused, compose("the spawner speaks protocol version ", rendezvous.protocol_version,
                                       ", this node ", kProtocolVersion, "; install the same version on both"));
}

}  // namespace shoal
