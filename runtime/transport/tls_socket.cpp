// OpenSSL on a non-blocking descriptor: try, see what it wants, wait for that until the deadline, try again.
#include "runtime/transport/tls_socket.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "runtime/base/clock.h"
#include "runtime/base/compose.h"
#include "runtime/transport/openssl_handles.h"

namespace shoal {
namespace {

Failure too_late(std::string_view what) {
  return fail(Error::kUnreachable,
              compose("The peer did not ", what, " in time; it is overloaded, frozen or cut off."));
}

// An alert is the peer's refusal; its code is what we can say about why.
bool is_alert(unsigned long code) {
  const int reason = ERR_GET_REASON(code);
  return ERR_GET_LIB(code) == ERR_LIB_SSL && reason > SSL_AD_REASON_OFFSET && reason < SSL_AD_REASON_OFFSET + 256;
}

}  // namespace

Result<TlsSocket> TlsSocket::start(Socket socket, const TlsContext& context) {
  ERR_clear_error();
  ssl_st* session = context.new_session();
  if (session == nullptr) return fail(Error::kInternal, compose("OpenSSL has no session: ", take_openssl_error(), "."));
  SSL_set_fd(session, socket.descriptor());
  return TlsSocket(std::move(socket), session);
}

TlsSocket TlsSocket::adopt(Socket socket, ssl_st* session) {
  ERR_clear_error();
  SSL_set_fd(session, socket.descriptor());
  return TlsSocket(std::move(socket), session);
}

Status TlsSocket::finish_handshake(Deadline deadline) {
  const Status shaken = shake(deadline);
  if (!shaken.ok()) {
    close_gracefully(std::min(deadline, deadline_in(std::chrono::milliseconds(200))));
  }
  return shaken;
}

Result<TlsSocket> TlsSocket::connect(Socket socket, const TlsContext& context, Deadline deadline,
                                     PortProtocol protocol) {
  auto started = start(std::move(socket), context);
  if (!started.ok()) return started;
  SSL_set_connect_state(started->session_);
  ask_for(started->session_, protocol);
  const Status shaken = started->shake(deadline);
  if (!shaken.ok()) return shaken.failure();
  return started;
}

std::pair<Socket, ssl_st*> TlsSocket::release() && { return {std::move(socket_), std::exchange(session_, nullptr)}; }

TlsSocket::TlsSocket(TlsSocket&& other) noexcept
    : socket_(std::move(other.socket_)), session_(std::exchange(other.session_, nullptr)) {}

TlsSocket::~TlsSocket() {
  if (session_ == nullptr) return;
  ERR_clear_error();
  if (SSL_is_init_finished(session_)) SSL_shutdown(session_);
  ERR_clear_error();
  SSL_free(session_);
}

Status TlsSocket::shake(Deadline deadline) {
  for (;;) {
    ERR_clear_error();
    const int result = SSL_do_handshake(session_);
    if (result == 1) return Done{};
    const Status waited = wait(result, deadline);
    if (!waited.ok()) return waited;
  }
}

Result<std::size_t> TlsSocket::read_some(char* buffer, std::size_t size, Deadline deadline) {
  for (;;) {
    ERR_clear_error();
    const int result = SSL_read(session_, buffer, io_size(size));
    if (result > 0) return static_cast<std::size_t>(result);
    if (SSL_get_error(session_, result) == SSL_ERROR_ZERO_RETURN) return std::size_t{0};
    const Status waited = wait(result, deadline);
    if (!waited.ok()) return waited.failure();
  }
}

Status TlsSocket::write_all(std::string_view text, Deadline deadline) {
  while (!text.empty()) {
    ERR_clear_error();
    const int result = SSL_write(session_, text.data(), io_size(text.size()));
    if (result > 0) {
      text.remove_prefix(static_cast<std::size_t>(result));
      continue;
    }
    const Status waited = wait(result, deadline);
    if (!waited.ok()) return waited;
  }
  return Done{};
}

void TlsSocket::close_gracefully(Deadline deadline) {
  ERR_clear_error();
  if (SSL_is_init_finished(session_)) SSL_shutdown(session_);
  ERR_clear_error();
  ::shutdown(socket_.descriptor(), SHUT_WR);
  char rest[4096];
  while (wait_readable(socket_.descriptor(), deadline)) {
    if (::recv(socket_.descriptor(), rest, sizeof rest, 0) <= 0) return;
    if (steady_now() >= deadline) return;
  }
}

bool TlsSocket::has_peer_certificate() const { return SSL_get0_peer_certificate(session_) != nullptr; }

Status TlsSocket::wait(int result, Deadline deadline) {
  const int reason = SSL_get_error(session_, result);
  const int system_error = errno;
  switch (reason) {
    case SSL_ERROR_WANT_READ:
      return wait_readable(descriptor(), deadline) ? Status(Done{}) : Status(too_late("answer"));
    case SSL_ERROR_WANT_WRITE:
      return wait_writable(descriptor(), deadline) ? Status(Done{}) : Status(too_late("read what was sent"));
    case SSL_ERROR_SYSCALL:
      ERR_clear_error();
      return fail(Error::kUnreachable,
                  compose("The connection was lost: ",
                          system_error == 0 ? "closed by the peer" : std::strerror(system_error), "."));
    case SSL_ERROR_ZERO_RETURN: return fail(Error::kUnreachable, "The peer closed the connection.");
    default: break;
  }
  const unsigned long code = ERR_peek_last_error();
  const bool is_certificate =
      SSL_get_verify_mode(session_) != SSL_VERIFY_NONE && SSL_get_verify_result(session_) != X509_V_OK;
  const std::string text = handshake_failure_text(session_);
  if (is_alert(code))
    return fail(Error::kRefused, compose("The peer refused our certificate or protocol: ", text, "."));
  if (is_certificate) return fail(Error::kRefused, compose("The peer is not of this run: ", text, "."));
  return fail(Error::kUnreachable, compose("The connection failed: ", text, "."));
}

}  // namespace shoal
