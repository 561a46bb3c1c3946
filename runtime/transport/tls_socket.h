// A TLS connection for a thread of its own: reads and writes that end at a deadline.
//
// Used by the control endpoint and its clients, and to open lanes. The descriptor is non-blocking underneath; nothing
// here waits without a deadline.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/transport/sockets.h"
#include "runtime/transport/tls_context.h"

namespace shoal {

class TlsSocket {
 public:
  // Handshakes. Errors: kRefused (the peer's certificate or ours), kUnreachable (deadline, connection lost, not TLS).
  // The peer's identity is not checked yet: see TlsContext::check_peer and check_pinned.
  [[nodiscard]] static Result<TlsSocket> connect(Socket socket, const TlsContext& context, Deadline deadline,
                                                 PortProtocol protocol = PortProtocol::kControl);
  // Takes over what a port has accepted, in the middle of its handshake; the session becomes this object's.
  [[nodiscard]] static TlsSocket adopt(Socket socket, ssl_st* session);
  // Ends the handshake of an adopted one. Errors: as above.
  [[nodiscard]] Status finish_handshake(Deadline deadline);

  TlsSocket(TlsSocket&& other) noexcept;
  TlsSocket& operator=(TlsSocket&&) = delete;
  // Says goodbye as far as that needs no waiting, and closes.
  ~TlsSocket();

  // Reads what there is, at most `size`. 0: the peer has closed. Errors: kUnreachable, kRefused (a TLS alert).
  [[nodiscard]] Result<std::size_t> read_some(char* buffer, std::size_t size, Deadline deadline);
  [[nodiscard]] Status write_all(std::string_view text, Deadline deadline);
  // Sends our end and waits for the peer's, so that its last bytes are not lost to a reset.
  void close_gracefully(Deadline deadline);

  [[nodiscard]] bool has_peer_certificate() const;
  [[nodiscard]] ssl_st* session() const { return session_; }
  [[nodiscard]] int descriptor() const { return socket_.descriptor(); }
  // Both are the caller's; this is empty.
  [[nodiscard]] std::pair<Socket, ssl_st*> release() &&;

 private:
  TlsSocket(Socket socket, ssl_st* session) : socket_(std::move(socket)), session_(session) {}
  [[nodiscard]] static Result<TlsSocket> start(Socket socket, const TlsContext& context);
  [[nodiscard]] Status shake(Deadline deadline);
  // Waits for what TLS wants, after a call that did not finish. Errors as above.
  [[nodiscard]] Status wait(int result, Deadline deadline);

  Socket socket_;
  ssl_st* session_;
};

}  // namespace shoal
