// OpenSSL by hand, without any of the project's own TLS code: an attacker would not use that either.
#include "tests/runtime/transport/stranger.h"

#include <openssl/pem.h>
#include <sys/socket.h>

#include <fstream>

#include "runtime/base/compose.h"
#include "runtime/base/file.h"
#include "runtime/transport/openssl_handles.h"
#include "runtime/transport/tls_context.h"
#include "tests/runtime/transport/test_run.h"

namespace shoal::test_support {
namespace {

Owned<SSL_CTX> stranger_context(const StrangerTls& tls) {
  Owned<SSL_CTX> context(SSL_CTX_new(TLS_client_method()));
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_NONE, nullptr);
  if (tls.version_max != 0) SSL_CTX_set_max_proto_version(context.get(), tls.version_max);
  if (tls.files != nullptr) {
    ENSURE(SSL_CTX_use_certificate_file(context.get(), tls.files->certificate.c_str(), SSL_FILETYPE_PEM) == 1,
           "readable");
    ENSURE(SSL_CTX_use_PrivateKey_file(context.get(), tls.files->key.c_str(), SSL_FILETYPE_PEM) == 1, "readable");
  }
  return context;
}

// Runs one SSL call until it succeeds, fails, or the deadline passes (0).
template <class Call>
int drive(SSL* session, Deadline deadline, Call call) {
  for (;;) {
    ERR_clear_error();
    const int result = call();
    if (result > 0) return result;
    const int reason = SSL_get_error(session, result);
    const int descriptor = SSL_get_fd(session);
    if (reason == SSL_ERROR_WANT_READ) {
      if (!wait_readable(descriptor, deadline)) return 0;
    } else if (reason == SSL_ERROR_WANT_WRITE) {
      if (!wait_writable(descriptor, deadline)) return 0;
    } else {
      return -1;
    }
  }
}

Outcome read_to_end(SSL* session, Deadline deadline) {
  char buffer[4096];
  for (;;) {
    const int count = drive(session, deadline, [&] { return SSL_read(session, buffer, sizeof buffer); });
    if (count == 0) return Outcome::kWaits;
    if (count < 0) return Outcome::kClosed;
  }
}

Outcome first_word(SSL* session, Deadline deadline) {
  char buffer[4096];
  const int shaken = drive(session, deadline, [&] { return SSL_do_handshake(session); });
  if (shaken <= 0) return shaken == 0 ? Outcome::kWaits : Outcome::kClosed;
  const int count = drive(session, deadline, [&] { return SSL_read(session, buffer, sizeof buffer); });
  if (count > 0) return Outcome::kSpokeToUs;
  return count == 0 ? Outcome::kWaits : Outcome::kClosed;
}

Owned<SSL> session_on(SSL_CTX* context, const Socket& socket, std::optional<PortProtocol> protocol) {
  Owned<SSL> session(SSL_new(context));
  SSL_set_fd(session.get(), socket.descriptor());
  SSL_set_connect_state(session.get());
  if (protocol) ask_for(session.get(), *protocol);
  return session;
}

}  // namespace

Socket connect_raw(std::uint16_t port) { return std::move(dial({"127.0.0.1", port}, deadline_in(kPatience)).value()); }

Outcome say_in_plaintext(std::uint16_t port, std::string_view text, std::chrono::milliseconds patience) {
  const Socket socket = connect_raw(port);
  const ssize_t sent = ::send(socket.descriptor(), text.data(), text.size(), MSG_NOSIGNAL);
  ENSURE(sent >= 0, "a fresh connection takes a text");
  return is_closed_within(socket, patience) ? Outcome::kClosed : Outcome::kWaits;
}

void say_and_reset(std::uint16_t port, std::string_view text) {
  const Socket socket = connect_raw(port);
  ENSURE(::send(socket.descriptor(), text.data(), text.size(), MSG_NOSIGNAL) >= 0, "a fresh connection takes a text");
  const linger at_once{1, 0};
  ::setsockopt(socket.descriptor(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

bool is_closed_within(const Socket& socket, std::chrono::milliseconds patience) {
  const Deadline deadline = deadline_in(patience);
  char buffer[4096];
  while (wait_readable(socket.descriptor(), deadline)) {
    const ssize_t count = ::recv(socket.descriptor(), buffer, sizeof buffer, 0);
    if (count == 0 || (count < 0 && errno != EAGAIN)) return true;
  }
  return false;
}

Outcome knock(std::uint16_t port, const StrangerTls& tls, std::chrono::milliseconds patience) {
  const auto context = stranger_context(tls);
  const Socket socket = connect_raw(port);
  const auto session = session_on(context.get(), socket, tls.protocol);
  return first_word(session.get(), deadline_in(patience));
}

Outcome knock_and_say(std::uint16_t port, const StrangerTls& tls, std::string_view bytes,
                      std::chrono::milliseconds patience) {
  const auto context = stranger_context(tls);
  const Socket socket = connect_raw(port);
  const auto session = session_on(context.get(), socket, tls.protocol);
  const Deadline deadline = deadline_in(patience);
  const Outcome first = first_word(session.get(), deadline);
  if (first != Outcome::kSpokeToUs) return first;
  const int size = static_cast<int>(bytes.size());
  const int written = drive(session.get(), deadline, [&] { return SSL_write(session.get(), bytes.data(), size); });
  return written < 0 ? Outcome::kClosed : read_to_end(session.get(), deadline);
}

TlsFiles self_signed(const std::string& folder, const PeerIdentity& identity) {
  auto made = make_key_and_csr(identity.name);
  const BioPtr in(BIO_new_mem_buf(made->key.data(), static_cast<int>(made->key.size())));
  const KeyPtr key(PEM_read_bio_PrivateKey(in.get(), nullptr, nullptr, nullptr));
  const X509Ptr certificate(X509_new());
  X509_set_version(certificate.get(), 2);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -3600);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 3600);
  X509_set_pubkey(certificate.get(), key.get());
  const std::string uri = "URI:" + identity_uri(identity);
  const Owned<X509_EXTENSION> name(X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, uri.c_str()));
  X509_add_ext(certificate.get(), name.get(), -1);
  ENSURE(X509_sign(certificate.get(), key.get(), EVP_sha256()) > 0, "a certificate can sign itself");
  const BioPtr out(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(out.get(), certificate.get());
  char* data = nullptr;
  const long size = BIO_get_mem_data(out.get(), &data);
  const std::string pem(data, static_cast<std::size_t>(size));
  const TlsFiles files = credential_files(folder, identity.name);
  ENSURE(write_credentials(files, {pem, pem, made->key}).ok(), "test certificates can be written");
  return files;
}

}  // namespace shoal::test_support
