// TLS settings of a process: TLS 1.3 only, our own chain, the run's authority, the peers that may come.
//
// Certificate files are read once, when a context is made: later changes to them neither end the process nor
// admit a peer. A certificate that this process has renewed is put in its place while it runs: sessions
// that are there keep the old one. Thread-safe.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/error.h"
#include "runtime/transport/certificates.h"
#include "runtime/transport/identity.h"
#include "runtime/transport/port_protocol.h"

struct ssl_ctx_st;
struct ssl_st;

namespace shoal {

// Names what a client's session is for, before its handshake.
void ask_for(ssl_st* session, PortProtocol protocol);
// Returns what a server's session was asked for. The handshake stops once its first message has been read, when this is
// known for the first time, and goes on when it is called again. Nothing: that message has not come.
[[nodiscard]] std::optional<PortProtocol> asked_for(ssl_st* session);
// Tells whether the server has agreed to it; of a client's session, after the handshake.
[[nodiscard]] bool is_agreed(ssl_st* session, PortProtocol protocol);

// Returns who the peer is after a handshake, if the policy allows its certificate. Errors: kRefused.
[[nodiscard]] Result<PeerIdentity> check_peer(const PeerPolicy& policy, ssl_st* session);
// True when a revoked certificate is the only reason why check_peer() refused the peer.
[[nodiscard]] bool is_revoked(const PeerPolicy& policy, ssl_st* session);

class TlsContext {
 public:
  // Both sides show a certificate of the run; a server's clients that ask for the control endpoint need none: one that
  // shows none has no identity, one that shows a bad one is refused.
  // Errors: kIo (file missing), kInvalidData (not PEM; key of another certificate; not signed by the authority).
  [[nodiscard]] static Result<std::shared_ptr<TlsContext>> mutual(const TlsFiles& files, PeerPolicy policy);
  // A newcomer without certificate that knows only the authority's fingerprint; see check_pinned().
  [[nodiscard]] static Result<std::shared_ptr<const TlsContext>> newcomer();

  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  // The caller's, with the certificate of now. Null: out of memory.
  [[nodiscard]] ssl_st* new_session() const;
  // Renews from the next session on. Errors: kInvalidData, as above; then everything stays as it is.
  [[nodiscard]] Status renew(const Credentials& credentials);
  [[nodiscard]] const PeerPolicy& policy() const { return policy_; }

  // Returns who the peer is after a handshake, if its certificate is allowed here. Errors: kRefused.
  [[nodiscard]] Result<PeerIdentity> check_peer(ssl_st* session) const { return shoal::check_peer(policy_, session); }
  // Returns the peer's certificate_name(); empty: it showed none.
  [[nodiscard]] static std::string certificate_of(ssl_st* session);

 private:
  TlsContext(ssl_ctx_st* context, PeerPolicy policy, TlsFiles files)
      : context_(context), policy_(std::move(policy)), files_(std::move(files)) {}
  [[nodiscard]] static Result<ssl_ctx_st*> make(const TlsFiles& files, const Credentials& credentials);

  mutable std::mutex mutex_;  // guards context_
  ssl_ctx_st* context_;
  PeerPolicy policy_;
  TlsFiles files_;  // as they are called in messages
};

// The serial number of the certificate that the peer of a session has shown; empty: it has shown none.
[[nodiscard]] std::string peer_serial(ssl_st* session);

// Checks after a newcomer's handshake, before it says anything: the presented chain holds the authority with this
// fingerprint, which signed the leaf, whose identity is the spawner of this run. Errors: kRefused.
[[nodiscard]] Status check_pinned(ssl_st* session, const Fingerprint& authority, RunId run);

// Says why a session failed, for a log: the verification's result, or the newest OpenSSL error of this thread, which
// is taken from the queue.
[[nodiscard]] std::string handshake_failure_text(ssl_st* session);

}  // namespace shoal
