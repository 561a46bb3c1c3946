// The run's certificate authority and what it signs: keys (EC P-256), requests, certificates, their files.
//
// One authority per run, in the run directory's certs/ (ca.crt, ca.key; all files 0600). A certificate's only claim is
// the identity in its subject alternative name (identity.h); it is valid from 24 h before its issue, because clocks
// differ. PEM text is the form in which keys and certificates travel between functions; OpenSSL stays in the source.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/error.h"
#include "runtime/base/time/utc_time.h"
#include "runtime/transport/identity.h"

struct x509_st;

namespace shoal {

// SHA-256 of the authority's certificate in DER: what a join token pins.
using Fingerprint = std::array<std::uint8_t, 32>;
[[nodiscard]] std::string fingerprint_text(const Fingerprint& fingerprint);

// Paths of the three files of one process.
struct TlsFiles {
  std::string ca;
  std::string certificate;
  std::string key;
};

// The three texts of one process.
struct Credentials {
  std::string ca;
  std::string certificate;
  std::string key;
};

struct KeyAndRequest {
  std::string key;      // PEM, PKCS#8, unencrypted
  std::string request;  // PEM, PKCS#10, signed with the key
};
// A new key and a request for a certificate. The request's subject is the name alone; the signer decides the identity.
[[nodiscard]] Result<KeyAndRequest> make_key_and_csr(const std::string& name);
// A request with a key that is there: for another certificate of the same key. Errors: kInvalidData (no key).
[[nodiscard]] Result<std::string> make_csr(std::string_view key_pem, const std::string& name);

struct Validity {
  WallTime not_before;
  WallTime not_after;
};
// From 1970 until a century after `now`: trust comes from the run's authority, and ends by revocation. A clock that is
// years wrong, at the issue or later, makes no certificate useless.
[[nodiscard]] Validity usual_validity(WallTime now);
// Less than a third of its lifetime is left.
[[nodiscard]] bool is_due_for_renewal(const Validity& validity, WallTime now);

class Authority {
 public:
  // Makes the authority of a new run and writes ca.crt and ca.key into `directory` (made if missing).
  // Errors: kIo; kUsage if the directory already holds an authority.
  [[nodiscard]] static Result<Authority> create(const std::string& directory, RunId run, WallTime now);
  // Reads it again. Errors: kIo, kInvalidData (not ours, damaged, key of another certificate).
  [[nodiscard]] static Result<Authority> open(const std::string& directory);

  // Signs a request for `identity`. The run of the identity must be the authority's.
  // Errors: kRefused if the request is malformed, not signed by its own key, or its key is not EC P-256.
  [[nodiscard]] Result<std::string> sign(std::string_view request_pem, const PeerIdentity& identity,
                                         const Validity& validity) const;
  // Key and certificate in one go, for processes that live beside the authority.
  [[nodiscard]] Result<Credentials> issue(const PeerIdentity& identity, const Validity& validity) const;

  [[nodiscard]] RunId run() const;
  [[nodiscard]] const std::string& certificate() const;  // PEM
  [[nodiscard]] const Fingerprint& fingerprint() const;

 private:
  struct State;
  explicit Authority(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

// <directory>/ca.crt, <directory>/<stem>.crt, <directory>/<stem>.key.
[[nodiscard]] TlsFiles credential_files(const std::string& directory, const std::string& stem);
// Writes all three with mode 0600, each by rename. Errors: kIo.
[[nodiscard]] Status write_credentials(const TlsFiles& files, const Credentials& credentials);
[[nodiscard]] Result<Credentials> read_credentials(const TlsFiles& files);
// Returns true when there is no certificate, or it is due for renewal, or not valid yet: time to ask for a new one. A
// damaged one is reported by the function that reads it.
[[nodiscard]] bool needs_renewal(const TlsFiles& files, WallTime now);

// Returns from when until when a certificate is valid. Errors: kInvalidData (not a certificate).
[[nodiscard]] Result<Validity> validity_of(const std::string& certificate_pem);
[[nodiscard]] Result<Validity> validity_of(x509_st* certificate);
// Returns the certificate's holder. Errors: kRefused (no identity, several, or not ours), kInvalidData (not PEM).
[[nodiscard]] Result<PeerIdentity> identity_of(const std::string& certificate_pem);
[[nodiscard]] Result<PeerIdentity> identity_of(x509_st* certificate);
// The serial number in lower-case hex; empty: it has none.
[[nodiscard]] std::string serial_of(x509_st* certificate);
// Returns role, name and serial number, which tell one certificate of a run from all others: "node/node2#3F09".
[[nodiscard]] std::string certificate_name(x509_st* certificate);
// Errors: kInvalidData (not a certificate).
[[nodiscard]] Result<std::string> serial_of(const std::string& certificate_pem);
[[nodiscard]] Result<Fingerprint> fingerprint_of(const std::string& certificate_pem);
[[nodiscard]] Result<Fingerprint> fingerprint_of(x509_st* certificate);

}  // namespace shoal
