// All settings of TLS stand here once, for the data door, the control endpoint and their clients alike.
#include "runtime/transport/tls_context.h"

#include <openssl/pem.h>

#include <cstdint>
#include <utility>

#include "runtime/base/compose.h"
#include "runtime/transport/openssl_handles.h"
#include "runtime/transport/revocation/revoked_certificates.h"

namespace shoal {
namespace {

Failure bad_file(const std::string& path, std::string_view what) {
  return fail(Error::kInvalidData,
              compose(path, " ", what, " (", take_openssl_error(),
                      "). A node gets a new pair by joining with a token, a run's own process when the "
                      "run is resumed (--resume)."));
}

X509Ptr parse_certificate(const std::string& pem) {
  const BioPtr in(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  return X509Ptr(PEM_read_bio_X509(in.get(), nullptr, nullptr, nullptr));
}

KeyPtr parse_key(const std::string& pem) {
  const BioPtr in(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  const auto no_passphrase = [](char*, int, int, void*) { return -1; };
  return KeyPtr(PEM_read_bio_PrivateKey(in.get(), nullptr, no_passphrase, nullptr));
}

// Sets options of every session: TLS 1.3, no resumption (a ticket would outlive a revocation), small idle buffers.
void set_common_options(SSL_CTX* context) {
  SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION);
  SSL_CTX_set_mode(context,
                   SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context, 0);
  SSL_CTX_set_options(context, SSL_OP_IGNORE_UNEXPECTED_EOF | SSL_OP_NO_RENEGOTIATION);
}

// A session's own data field records what was asked for: 0 nothing yet, else one more than the protocol.
void note_protocol(SSL* session, PortProtocol protocol) {
  SSL_set_app_data(session, reinterpret_cast<char*>(static_cast<std::uintptr_t>(protocol) + 1));
}

// Stops the handshake when the first message was read, once: its request decides which code goes on, and whether
// it needs a certificate. Another message of the same session, after a retry, changes nothing of that.
int read_hello(SSL* session, int* alert, void*) {
  if (asked_for(session)) return SSL_CLIENT_HELLO_SUCCESS;
  std::optional<PortProtocol> protocol = PortProtocol::kControl;
  const unsigned char* body = nullptr;
  std::size_t size = 0;
  if (SSL_client_hello_get0_ext(session, TLSEXT_TYPE_application_layer_protocol_negotiation, &body, &size) == 1) {
    protocol = protocol_asked_for({body, size});
  }
  if (!protocol) {
    *alert = SSL_AD_DECODE_ERROR;
    return SSL_CLIENT_HELLO_ERROR;
  }
  note_protocol(session, *protocol);
  if (*protocol == PortProtocol::kControl) SSL_set_verify(session, SSL_VERIFY_PEER, nullptr);
  return SSL_CLIENT_HELLO_RETRY;
}

Status use_files(SSL_CTX* context, const TlsFiles& files, const Credentials& credentials) {
  const X509Ptr ca = parse_certificate(credentials.ca);
  if (!ca) return bad_file(files.ca, "is not a certificate");
  const X509Ptr own = parse_certificate(credentials.certificate);
  if (!own) return bad_file(files.certificate, "is not a certificate");
  const KeyPtr key = parse_key(credentials.key);
  if (!key) return bad_file(files.key, "is not a private key");
  if (X509_check_private_key(own.get(), key.get()) != 1) {
    return bad_file(files.key, compose("is not the key of ", files.certificate));
  }
  if (X509_verify(own.get(), X509_get0_pubkey(ca.get())) != 1) {
    return bad_file(files.certificate, compose("was not signed by ", files.ca));
  }
  if (SSL_CTX_use_certificate(context, own.get()) != 1 || SSL_CTX_use_PrivateKey(context, key.get()) != 1 ||
      SSL_CTX_add1_chain_cert(context, ca.get()) != 1 ||
      X509_STORE_add_cert(SSL_CTX_get_cert_store(context), ca.get()) != 1) {
    return fail(Error::kInternal, compose("OpenSSL could not use the certificates: ", take_openssl_error(), "."));
  }
  return Done{};
}

// Others than nodes are the run's own.
bool is_refused(const PeerPolicy& policy, const PeerIdentity& peer, const std::string& serial) {
  return policy.revoked && peer.role == PeerRole::kNode && policy.revoked->refuses(peer.name, serial);
}

}  // namespace

TlsContext::~TlsContext() { SSL_CTX_free(context_); }

Result<ssl_ctx_st*> TlsContext::make(const TlsFiles& files, const Credentials& credentials) {
  ERR_clear_error();
  Owned<SSL_CTX> context(SSL_CTX_new(TLS_method()));
  if (!context) return fail(Error::kInternal, compose("OpenSSL has no TLS: ", take_openssl_error(), "."));
  set_common_options(context.get());
  const Status used = use_files(context.get(), files, credentials);
  if (!used.ok()) return used.failure();
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  SSL_CTX_set_client_hello_cb(context.get(), read_hello, nullptr);
  // A client is told the name of what it gets, if it has named it.
  const auto name_protocol = [](SSL* session, const unsigned char** out, unsigned char* out_size,
                                const unsigned char* in, unsigned in_size, void*) {
    const auto list = protocol_list(asked_for(session).value_or(PortProtocol::kControl));
    unsigned char* chosen = nullptr;
    const int found =
        SSL_select_next_proto(&chosen, out_size, list.data(), static_cast<unsigned>(list.size()), in, in_size);
    *out = chosen;
    return found == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_NOACK;
  };
  SSL_CTX_set_alpn_select_cb(context.get(), name_protocol, nullptr);
  SSL_CTX_set_verify_depth(context.get(), 1);
  return context.release();
}

Status TlsContext::renew(const Credentials& credentials) {
  const auto context = make(files_, credentials);
  if (!context.ok()) return context.failure();
  const std::lock_guard guard(mutex_);
  SSL_CTX_free(std::exchange(context_, *context));  // sessions of it keep it until they end
  return Done{};
}

ssl_st* TlsContext::new_session() const {
  const std::lock_guard guard(mutex_);
  return SSL_new(context_);
}

Result<std::shared_ptr<TlsContext>> TlsContext::mutual(const TlsFiles& files, PeerPolicy policy) {
  const auto credentials = read_credentials(files);
  if (!credentials.ok()) return credentials.failure();
  const auto context = make(files, *credentials);
  if (!context.ok()) return context.failure();
  return std::shared_ptr<TlsContext>(new TlsContext(*context, std::move(policy), files));
}

Result<std::shared_ptr<const TlsContext>> TlsContext::newcomer() {
  ERR_clear_error();
  Owned<SSL_CTX> context(SSL_CTX_new(TLS_client_method()));
  if (!context) return fail(Error::kInternal, compose("OpenSSL has no TLS: ", take_openssl_error(), "."));
  set_common_options(context.get());
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_NONE, nullptr);
  return std::shared_ptr<const TlsContext>(new TlsContext(context.release(), PeerPolicy{}, TlsFiles{}));
}

void ask_for(ssl_st* session, PortProtocol protocol) {
  const auto list = protocol_list(protocol);
  SSL_set_alpn_protos(session, list.data(), static_cast<unsigned>(list.size()));
}

std::optional<PortProtocol> asked_for(ssl_st* session) {
  const auto noted = reinterpret_cast<std::uintptr_t>(SSL_get_app_data(session));
  return noted == 0 ? std::nullopt : std::optional(static_cast<PortProtocol>(noted - 1));
}

bool is_agreed(ssl_st* session, PortProtocol protocol) {
  const unsigned char* chosen = nullptr;
  unsigned int size = 0;
  SSL_get0_alpn_selected(session, &chosen, &size);
  return std::string_view(reinterpret_cast<const char*>(chosen), size) == protocol_name(protocol);
}

Result<PeerIdentity> check_peer(const PeerPolicy& policy, ssl_st* session) {
  const X509Ptr certificate(SSL_get1_peer_certificate(session));
  if (!certificate) return fail(Error::kRefused, "The peer showed no certificate; join the run with a token first.");
  if (SSL_get_verify_result(session) != X509_V_OK) return fail(Error::kRefused, handshake_failure_text(session));
  auto identity = identity_of(certificate.get());
  if (!identity.ok()) return identity.failure();
  const Status allowed = peer_allowed(policy, *identity);
  if (!allowed.ok()) return allowed.failure();
  if (is_refused(policy, *identity, serial_of(certificate.get()))) {
    return fail(Error::kRefused, compose("The certificate of ", identity->name,
                                         " was revoked: it was thrown out of the run. The run's operator can admit it "
                                         "again with a token of `shoal token new`."));
  }
  if (policy.refused.contains(peer_name(*identity))) {
    return fail(Error::kRefused, compose("What ", identity->name, " sent has made this process crash twice: every ",
                                         "certificate of that name is refused here. Start it under another --name."));
  }
  return identity;
}

bool is_revoked(const PeerPolicy& policy, ssl_st* session) {
  const X509Ptr certificate(SSL_get1_peer_certificate(session));
  if (!certificate || SSL_get_verify_result(session) != X509_V_OK) return false;
  const auto identity = identity_of(certificate.get());
  return identity.ok() && is_refused(policy, *identity, serial_of(certificate.get()));
}

std::string peer_serial(ssl_st* session) {
  const X509Ptr certificate(SSL_get1_peer_certificate(session));
  return certificate ? serial_of(certificate.get()) : std::string();
}

std::string TlsContext::certificate_of(ssl_st* session) {
  const X509Ptr certificate(SSL_get1_peer_certificate(session));
  return certificate ? certificate_name(certificate.get()) : std::string();
}

Status check_pinned(ssl_st* session, const Fingerprint& authority, RunId run) {
  const Failure wrong = fail(Error::kRefused,
                             "The spawner at this address is not the one the join token was made by (its certificate "
                             "authority differs). Nothing was sent. Check address and token.");
  const X509Ptr leaf(SSL_get1_peer_certificate(session));
  STACK_OF(X509)* chain = SSL_get_peer_cert_chain(session);
  if (!leaf || chain == nullptr) return wrong;
  for (int i = 0; i < sk_X509_num(chain); ++i) {
    X509* candidate = sk_X509_value(chain, i);
    const auto fingerprint = fingerprint_of(candidate);
    if (!fingerprint.ok() || *fingerprint != authority) continue;
    const Owned<X509_STORE> store(X509_STORE_new());
    const Owned<X509_STORE_CTX> verification(X509_STORE_CTX_new());
    if (!store || !verification || X509_STORE_add_cert(store.get(), candidate) != 1 ||
        X509_STORE_CTX_init(verification.get(), store.get(), leaf.get(), nullptr) != 1 ||
        X509_STORE_CTX_set_purpose(verification.get(), X509_PURPOSE_SSL_SERVER) != 1) {
      return fail(Error::kInternal, compose("OpenSSL could not verify a chain: ", take_openssl_error(), "."));
    }
    if (X509_verify_cert(verification.get()) != 1) {
      const int reason = X509_STORE_CTX_get_error(verification.get());
      ERR_clear_error();
      return fail(Error::kRefused, compose("The spawner's certificate is not valid: ",
                                           X509_verify_cert_error_string(reason), ". Nothing was sent."));
    }
    const auto identity = identity_of(leaf.get());
    if (!identity.ok()) return identity.failure();
    return peer_allowed(PeerPolicy{run, {PeerRole::kSpawner}, nullptr}, *identity);
  }
  return wrong;
}

std::string handshake_failure_text(ssl_st* session) {
  const bool is_verified = SSL_get_verify_mode(session) != SSL_VERIFY_NONE;
  const long verification = is_verified ? SSL_get_verify_result(session) : X509_V_OK;
  const bool has_reason = ERR_peek_last_error() != 0;
  const std::string error = take_openssl_error();
  if (verification != X509_V_OK) {
    return compose("the certificate is refused: ", X509_verify_cert_error_string(verification));
  }
  return has_reason ? error : "it was closed, or its deadline passed, before its handshake was done";
}

}  // namespace shoal
