// The other side of the control endpoint: how a newcomer gets its certificate, and how commands and nodes ask.
//
// A newcomer verifies the spawner by the fingerprint in its token before it says the secret. All others verify
// by the run's authority. Each question is a connection of its own; names are resolved anew each time.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/transport/control/control_server.h"
#include "runtime/transport/control/enrolment.h"
#include "runtime/transport/tls_socket.h"

namespace shoal {

struct ControlTimeouts {
  std::chrono::milliseconds connect{5000};  // dial and handshake
  std::chrono::milliseconds answer{15000};
};

struct Enrolled {
  Credentials credentials;
  Rendezvous rendezvous;
};
// Makes a key, asks for its certificate. The key never leaves this process.
// Errors: kRefused (token, authority, version, name: each its own sentence), kUnreachable, kInvalidData.
[[nodiscard]] Result<Enrolled> enrol(const HostPort& spawner, const JoinToken& token, const std::string& name,
                                     std::uint32_t protocol_version, const ControlTimeouts& timeouts = {});

// Compares the spawner's protocol version with ours. Errors: kRefused, naming both versions and what to do.
[[nodiscard]] Status check_protocol(const Rendezvous& rendezvous);

// A connection to the control endpoint of our run: one question may be asked by it.
class ControlConnection {
 public:
  // `target` is path and query. The answer is one of status 200; other statuses become errors with the spawner's
  // sentence: 400, 404, 405, 413 kUsage; 403, 409, 410, 426 kRefused; 503 kUnreachable; the rest kInternal. Besides:
  // kUnreachable (it broke, or no answer came in time: what was asked may be under way), kRefused (our certificate is).
  [[nodiscard]] Result<ControlResponse> get(const std::string& target) { return ask("GET", target, ""); }
  [[nodiscard]] Result<ControlResponse> post(const std::string& target, const std::string& body) {
    return ask("POST", target, body);
  }
  [[nodiscard]] Result<Rendezvous> rendezvous();
  // The spawner of our run has said so itself: we were thrown out, and need not ask again.
  [[nodiscard]] bool has_revoked_us() const { return status_ == kStatusRevoked; }

 private:
  friend class ControlClient;
  ControlConnection(TlsSocket socket, HostPort spawner, std::chrono::milliseconds answer_within)
      : socket_(std::move(socket)), spawner_(std::move(spawner)), answer_within_(answer_within) {}
  [[nodiscard]] Result<ControlResponse> ask(const std::string& method, const std::string& target,
                                            const std::string& body);

  TlsSocket socket_;
  HostPort spawner_;
  std::chrono::milliseconds answer_within_;
  int status_ = 0;  // the answer's; 0: none came
};

class ControlClient {
 public:
  // Reads the certificates; connects to nobody yet. The run is the one of our own certificate.
  // Errors: kIo, kInvalidData.
  [[nodiscard]] static Result<ControlClient> create(const TlsFiles& files, const HostPort& spawner,
                                                    const ControlTimeouts& timeouts = {});

  // Errors: kUnreachable (nobody is there; nothing was asked), kRefused (not the spawner of our run).
  [[nodiscard]] Result<ControlConnection> connect() const;
  // Asks by a connection of its own. Errors: as of both.
  [[nodiscard]] Result<ControlResponse> get(const std::string& target) const;
  [[nodiscard]] Result<ControlResponse> post(const std::string& target, const std::string& body) const;
  [[nodiscard]] Result<Rendezvous> rendezvous() const;
  // A node's new certificate for a request (make_csr), in exchange for the one it has.
  [[nodiscard]] Result<std::string> renew(const std::string& request) const;

 private:
  ControlClient(std::shared_ptr<const TlsContext> context, HostPort spawner, ControlTimeouts timeouts)
      : context_(std::move(context)), spawner_(std::move(spawner)), timeouts_(timeouts) {}

  std::shared_ptr<const TlsContext> context_;
  HostPort spawner_;
  ControlTimeouts timeouts_;
};

}  // namespace shoal
