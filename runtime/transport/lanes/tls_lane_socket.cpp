// OpenSSL's buffering BIO gathers the records; read-ahead takes several of them in one call.
#include "runtime/transport/lanes/tls_lane_socket.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "runtime/transport/lanes/lane_greeting.h"
#include "runtime/transport/openssl_handles.h"

namespace shoal {
namespace {

constexpr long kGatheredBytes = 128 * 1024;
constexpr std::size_t kReadAheadBytes = 128 * 1024;

void set_option(int descriptor, int option, int value) {
  ::setsockopt(descriptor, IPPROTO_TCP, option, &value, sizeof value);  // without it: slower to send, or to notice
}

// False: out of memory.
[[nodiscard]] bool gather_writes(ssl_st* session) {
  BIO* socket = SSL_get_wbio(session);
  BIO* buffer = BIO_new(BIO_f_buffer());
  if (socket == nullptr || buffer == nullptr) return BIO_free(buffer), false;
  if (BIO_set_write_buffer_size(buffer, kGatheredBytes) != 1) return BIO_free(buffer), false;
  BIO_up_ref(socket);  // the session reads from it too
  SSL_set0_wbio(session, BIO_push(buffer, socket));
  return true;
}

}  // namespace

TlsLaneSocket::TlsLaneSocket(Socket socket, ssl_st* session, std::chrono::milliseconds silence_max)
    : LaneSocket(std::move(socket)), session_(session) {
  ERR_clear_error();
  set_option(descriptor(), TCP_NODELAY, 1);
  set_option(descriptor(), TCP_USER_TIMEOUT, static_cast<int>(silence_max.count()));
  SSL_clear_mode(session_, SSL_MODE_RELEASE_BUFFERS);
  SSL_set_default_read_buffer_len(session_, kReadAheadBytes);
  SSL_set_read_ahead(session_, 1);
  const bool is_ready = SSL_set_fd(session_, descriptor()) == 1 && gather_writes(session_);
  if (!is_ready) reason_ = "out of memory";
}

TlsLaneSocket::~TlsLaneSocket() {
  SSL_free(session_);
  ERR_clear_error();
}

TlsLaneSocket::Outcome TlsLaneSocket::read(std::span<char>& room) {
  while (!room.empty()) {
    ERR_clear_error();
    const int result = SSL_read(session_, room.data(), io_size(room.size()));
    if (result <= 0) return verdict(result);
    room = room.subspan(static_cast<std::size_t>(result));
  }
  return Outcome::kDone;
}

TlsLaneSocket::Outcome TlsLaneSocket::write(std::span<const char>& bytes) {
  while (!bytes.empty()) {
    ERR_clear_error();
    const int result = SSL_write(session_, bytes.data(), io_size(bytes.size()));
    if (result <= 0) return verdict(result);
    bytes = bytes.subspan(static_cast<std::size_t>(result));
  }
  return Outcome::kDone;
}

TlsLaneSocket::Outcome TlsLaneSocket::flush() {
  BIO* buffer = SSL_get_wbio(session_);
  ERR_clear_error();
  if (BIO_flush(buffer) > 0) return Outcome::kDone;
  if (BIO_should_retry(buffer)) return Outcome::kWait;
  reason_ = std::strerror(errno);
  return Outcome::kClosed;
}

std::uint64_t TlsLaneSocket::way() const { return way_to_accepted(descriptor()); }

TlsLaneSocket::Outcome TlsLaneSocket::verdict(int result) {
  const int reason = SSL_get_error(session_, result);
  const int system_error = errno;
  if (!reason_.empty()) return Outcome::kClosed;
  switch (reason) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE: return Outcome::kWait;
    case SSL_ERROR_ZERO_RETURN: was_closed_by_peer_ = true; break;
    case SSL_ERROR_SYSCALL: was_closed_by_peer_ = system_error == 0; break;
    default: reason_ = take_openssl_error(); return Outcome::kClosed;
  }
  reason_ = was_closed_by_peer_ ? "closed by the peer" : std::strerror(system_error);
  return Outcome::kClosed;
}

}  // namespace shoal
