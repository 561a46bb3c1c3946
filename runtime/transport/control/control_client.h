// The other side of the control endpoint: how a newcomer gets its certificate, and how commands and nodes ask.
//
// A newcomer verifies the spawner by the fingerprint in its token before it says the secret. Everybody else verifies
// by the run's authority. Each question is a connection of its own; names are resolved anew each time.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "runtime/base/error.h"
#include "runtime/transport/control/control_server.h"
#include "runtime/transport/control/enrolment.h"

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

// Whether we speak what the spawner speaks. Errors: kRefused, naming both versions and what to do.
[[nodiscard]] Status check_protocol(const Rendezvous& rendezvous);

class ControlClient {
 public:
  // Reads the certificates; connects to nobody yet. The run is the one of our own certificate.
  // Errors: kIo, kInvalidData.
  [[nodiscard]] static Result<ControlClient> create(const TlsFiles& files, const HostPort& spawner,
                                                    const ControlTimeouts& timeouts = {});

  // `target` is path and query. The answer is one of status 200; other statuses become errors with the spawner's
  // sentence: 400, 404, 405, 413 kUsage; 403, 409, 426 kRefused; 503 kUnreachable; the rest kInternal. Besides:
  // kUnreachable (nobody answers), kRefused (not the spawner of our run, or our certificate is refused).
  [[nodiscard]] Result<ControlResponse> get(const std::string& target) const;
  [[nodiscard]] Result<ControlResponse> post(const std::string& target, const std::string& body) const;
  [[nodiscard]] Result<Rendezvous> rendezvous() const;

 private:
  ControlClient(std::shared_ptr<const TlsContext> context, HostPort spawner, ControlTimeouts timeouts)
      : context_(std::move(context)), spawner_(std::move(spawner)), timeouts_(timeouts) {}
  [[nodiscard]] Result<ControlResponse> ask(const std::string& method, const std::string& target,
                                            const std::string& body) const;

  std::shared_ptr<const TlsContext> context_;
  HostPort spawner_;
  ControlTimeouts timeouts_;
};

}  // namespace shoal
