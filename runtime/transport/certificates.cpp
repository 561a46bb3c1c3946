// OpenSSL 3 in short functions. Every object has an owner from its first line on (openssl_handles.h).
#include "runtime/transport/certificates.h"

#include <openssl/pem.h>

#include <algorithm>
#include <ctime>
#include <filesystem>

#include "runtime/base/compose.h"
#include "runtime/base/file.h"
#include "runtime/transport/openssl_handles.h"

namespace shoal {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPemBytesMax = 64u << 10;
constexpr int kSerialBits = 127;
constexpr long kVersion3 = 2;  // X.509 counts versions from 0
constexpr std::chrono::hours kYear{24 * 365};
constexpr auto kLifetime = 100 * kYear;
constexpr WallTime kLatest{250 * kYear};                 // a WallTime counts nanoseconds and ends in 2262
constexpr std::string_view kAuthorityPrefix = "shoal ";  // its common name: shoal <run>

Failure openssl_failed(std::string_view what) {
  return fail(Error::kInternal, compose("OpenSSL could not ", what, ": ", take_openssl_error(), "."));
}

std::string text_of(BIO* memory) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(memory, &data);
  return size <= 0 ? std::string() : std::string(data, static_cast<std::size_t>(size));
}

BioPtr memory_of(std::string_view text) { return BioPtr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))); }

std::string pem_of(X509* certificate) {
  BioPtr out(BIO_new(BIO_s_mem()));
  return PEM_write_bio_X509(out.get(), certificate) == 1 ? text_of(out.get()) : std::string();
}

std::string pem_of(EVP_PKEY* key) {
  BioPtr out(BIO_new(BIO_s_mem()));
  const int written = PEM_write_bio_PKCS8PrivateKey(out.get(), key, nullptr, nullptr, 0, nullptr, nullptr);
  return written == 1 ? text_of(out.get()) : std::string();
}

X509Ptr certificate_of(std::string_view pem) {
  ERR_clear_error();
  if (pem.size() > kPemBytesMax) return nullptr;
  return X509Ptr(PEM_read_bio_X509(memory_of(pem).get(), nullptr, nullptr, nullptr));
}

// No passphrase is ever asked for: a prompt would hang a process without a terminal.
int no_passphrase(char*, int, int, void*) { return -1; }

KeyPtr key_of(std::string_view pem) {
  ERR_clear_error();
  return KeyPtr(PEM_read_bio_PrivateKey(memory_of(pem).get(), nullptr, no_passphrase, nullptr));
}

KeyPtr make_key() {
  ERR_clear_error();
  return KeyPtr(EVP_EC_gen("P-256"));
}

bool is_p256(EVP_PKEY* key) {
  char group[64] = {};
  std::size_t size = 0;
  return EVP_PKEY_is_a(key, "EC") == 1 && EVP_PKEY_get_group_name(key, group, sizeof group, &size) == 1 &&
         std::string_view(group, size) == "prime256v1";
}

bool add_extension(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  Owned<X509_EXTENSION> extension(X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
  return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
}

bool set_random_serial(X509* certificate) {
  Owned<BIGNUM> serial(BN_new());
  return serial && BN_rand(serial.get(), kSerialBits, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) == 1 &&
         BN_to_ASN1_INTEGER(serial.get(), X509_get_serialNumber(certificate)) != nullptr;
}

bool set_common_name(X509_NAME* subject, std::string_view name) {
  return X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>(name.data()),
                                    static_cast<int>(name.size()), -1, 0) == 1;
}

// A certificate with everything but its extensions and signature.
X509Ptr unsigned_certificate(std::string_view name, EVP_PKEY* key, const Validity& validity) {
  X509Ptr certificate(X509_new());
  if (!certificate) return nullptr;
  const std::time_t from = std::chrono::system_clock::to_time_t(validity.not_before);
  const std::time_t until = std::chrono::system_clock::to_time_t(validity.not_after);
  const bool done = X509_set_version(certificate.get(), kVersion3) == 1 && set_random_serial(certificate.get()) &&
                    ASN1_TIME_set(X509_getm_notBefore(certificate.get()), from) != nullptr &&
                    ASN1_TIME_set(X509_getm_notAfter(certificate.get()), until) != nullptr &&
                    set_common_name(X509_get_subject_name(certificate.get()), name) &&
                    X509_set_pubkey(certificate.get(), key) == 1;
  return done ? std::move(certificate) : nullptr;
}

bool finish_authority(X509* certificate, EVP_PKEY* key) {
  return X509_set_issuer_name(certificate, X509_get_subject_name(certificate)) == 1 &&
         add_extension(certificate, certificate, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
         add_extension(certificate, certificate, NID_key_usage, "critical,keyCertSign,cRLSign") &&
         add_extension(certificate, certificate, NID_subject_key_identifier, "hash") &&
         X509_sign(certificate, key, EVP_sha256()) > 0;
}

bool finish_leaf(X509* certificate, X509* issuer, EVP_PKEY* issuer_key, const PeerIdentity& identity) {
  return X509_set_issuer_name(certificate, X509_get_subject_name(issuer)) == 1 &&
         add_extension(certificate, issuer, NID_basic_constraints, "critical,CA:FALSE") &&
         add_extension(certificate, issuer, NID_key_usage, "critical,digitalSignature") &&
         add_extension(certificate, issuer, NID_ext_key_usage, "serverAuth,clientAuth") &&
         add_extension(certificate, issuer, NID_subject_key_identifier, "hash") &&
         add_extension(certificate, issuer, NID_authority_key_identifier, "keyid") &&
         add_extension(certificate, issuer, NID_subject_alt_name, "URI:" + identity_uri(identity)) &&
         X509_sign(certificate, issuer_key, EVP_sha256()) > 0;
}

Result<std::string> request_of(EVP_PKEY* key, const std::string& name) {
  RequestPtr request(X509_REQ_new());
  if (!request || !set_common_name(X509_REQ_get_subject_name(request.get()), name) ||
      X509_REQ_set_pubkey(request.get(), key) != 1 || X509_REQ_sign(request.get(), key, EVP_sha256()) <= 0) {
    return openssl_failed("make a certificate request");
  }
  BioPtr out(BIO_new(BIO_s_mem()));
  if (PEM_write_bio_X509_REQ(out.get(), request.get()) != 1) return openssl_failed("write a certificate request");
  return text_of(out.get());
}

// Certificates of ours say all times in UTC.
Result<WallTime> time_of(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return fail(Error::kInvalidData, "The certificate's times are not times.");
  return std::chrono::system_clock::from_time_t(::timegm(&parts));
}

Result<RunId> run_of_authority(X509* certificate) {
  char name[128] = {};
  X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, name, sizeof name);
  const std::string_view text(name);
  return parse_run(text.starts_with(kAuthorityPrefix) ? text.substr(kAuthorityPrefix.size()) : std::string_view());
}

// 0700, with its parents.
Status make_private_directory(const std::string& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (!error) fs::permissions(directory, fs::perms::owner_all, error);
  if (error) return fail(Error::kIo, compose("Cannot make the directory ", directory, ": ", error.message(), "."));
  return Done{};
}

}  // namespace

struct Authority::State {
  RunId run;
  X509Ptr certificate;
  KeyPtr key;
  std::string pem;
  Fingerprint fingerprint{};
};

std::string fingerprint_text(const Fingerprint& fingerprint) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : fingerprint) {
    text.push_back(kDigits[byte >> 4]);
    text.push_back(kDigits[byte & 0xf]);
  }
  return text;
}

Validity usual_validity(WallTime now) { return Validity{WallTime(), std::min(now, kLatest - kLifetime) + kLifetime}; }

bool is_due_for_renewal(const Validity& validity, WallTime now) {
  return now > validity.not_after - (validity.not_after - validity.not_before) / 3;
}

Result<KeyAndRequest> make_key_and_csr(const std::string& name) {
  const KeyPtr key = make_key();
  if (!key) return openssl_failed("make a key");
  auto request = request_of(key.get(), name);
  if (!request.ok()) return request.failure();
  return KeyAndRequest{pem_of(key.get()), std::move(*request)};
}

Result<std::string> make_csr(std::string_view key_pem, const std::string& name) {
  const KeyPtr key = key_of(key_pem);
  ERR_clear_error();
  if (!key) return fail(Error::kInvalidData, "This is not a private key in PEM form.");
  return request_of(key.get(), name);
}

Result<Authority> Authority::create(const std::string& directory, RunId run, WallTime now) {
  const Status made = make_private_directory(directory);
  if (!made.ok()) return made.failure();
  const TlsFiles files = credential_files(directory, "ca");
  if (fs::exists(files.ca)) {  // a key without it, of a start that was killed in between, has signed nothing
    return fail(Error::kUsage, compose(directory, " already holds a certificate authority; resume that run instead."));
  }
  auto state = std::make_shared<State>();
  state->run = run;
  state->key = make_key();
  if (!state->key) return openssl_failed("make a key");
  state->certificate =
      unsigned_certificate(compose(kAuthorityPrefix, run_text(run)), state->key.get(), usual_validity(now));
  if (!state->certificate || !finish_authority(state->certificate.get(), state->key.get())) {
    return openssl_failed("make the certificate authority");
  }
  state->pem = pem_of(state->certificate.get());
  const auto fingerprint = fingerprint_of(state->certificate.get());
  if (!fingerprint.ok()) return fingerprint.failure();
  state->fingerprint = *fingerprint;
  const Status key_written = replace_file(files.key, pem_of(state->key.get()), FileAccess::kOwnerOnly);
  if (!key_written.ok()) return key_written.failure();
  const Status written = replace_file(files.ca, state->pem, FileAccess::kOwnerOnly);
  if (!written.ok()) return written.failure();
  return Authority(std::move(state));
}

Result<Authority> Authority::open(const std::string& directory) {
  const TlsFiles files = credential_files(directory, "ca");
  const auto certificate = read_file(files.ca);
  if (!certificate.ok()) return certificate.failure();
  const auto key = read_file(files.key);
  if (!key.ok()) return key.failure();
  auto state = std::make_shared<State>();
  state->certificate = certificate_of(*certificate);
  state->key = key_of(*key);
  if (!state->certificate || !state->key || X509_check_private_key(state->certificate.get(), state->key.get()) != 1) {
    ERR_clear_error();
    return fail(Error::kInvalidData, compose("The certificate authority in ", directory,
                                             " is damaged: certificate and key do not belong together. Restore both "
                                             "files, or start a new run."));
  }
  const auto run = run_of_authority(state->certificate.get());
  if (!run.ok()) return fail(Error::kInvalidData, compose(files.ca, ": ", run.failure().message));
  state->run = *run;
  state->pem = pem_of(state->certificate.get());
  const auto fingerprint = fingerprint_of(state->certificate.get());
  if (!fingerprint.ok()) return fingerprint.failure();
  state->fingerprint = *fingerprint;
  return Authority(std::move(state));
}

Result<std::string> Authority::sign(std::string_view request_pem, const PeerIdentity& identity,
                                    const Validity& validity) const {
  ENSURE(identity.run == state_->run, "an authority signs for its own run only");
  if (!is_valid_name(identity.name)) {
    return fail(Error::kRefused,
                compose("'", identity.name,
                        "' cannot be a node's name: 1 to 64 letters, digits, '.', '_' or '-', beginning "
                        "with a letter or digit. Choose another with --name."));
  }
  ERR_clear_error();
  RequestPtr request;
  if (request_pem.size() <= kPemBytesMax) {
    request.reset(PEM_read_bio_X509_REQ(memory_of(request_pem).get(), nullptr, nullptr, nullptr));
  }
  EVP_PKEY* key = request ? X509_REQ_get0_pubkey(request.get()) : nullptr;
  const bool is_sound = key != nullptr && is_p256(key) && X509_REQ_verify(request.get(), key) == 1;
  ERR_clear_error();
  if (!is_sound) {
    return fail(Error::kRefused, "The certificate request is malformed, not signed by its own key, or not EC P-256.");
  }
  X509Ptr certificate = unsigned_certificate(identity.name, key, validity);
  if (!certificate || !finish_leaf(certificate.get(), state_->certificate.get(), state_->key.get(), identity)) {
    return openssl_failed("sign a certificate");
  }
  return pem_of(certificate.get());
}

Result<Credentials> Authority::issue(const PeerIdentity& identity, const Validity& validity) const {
  auto made = make_key_and_csr(identity.name);
  if (!made.ok()) return made.failure();
  auto certificate = sign(made->request, identity, validity);
  if (!certificate.ok()) return certificate.failure();
  return Credentials{state_->pem, std::move(*certificate), std::move(made->key)};
}

RunId Authority::run() const { return state_->run; }
const std::string& Authority::certificate() const { return state_->pem; }
const Fingerprint& Authority::fingerprint() const { return state_->fingerprint; }

TlsFiles credential_files(const std::string& directory, const std::string& stem) {
  const fs::path base(directory);
  return TlsFiles{base / "ca.crt", base / (stem + ".crt"), base / (stem + ".key")};
}

Status write_credentials(const TlsFiles& files, const Credentials& credentials) {
  const Status made = make_private_directory(fs::path(files.key).parent_path());
  if (!made.ok()) return made;
  const Status key = replace_file(files.key, credentials.key, FileAccess::kOwnerOnly);
  if (!key.ok()) return key;
  const Status ca = replace_file(files.ca, credentials.ca, FileAccess::kOwnerOnly);
  if (!ca.ok()) return ca;
  return replace_file(files.certificate, credentials.certificate, FileAccess::kOwnerOnly);
}

Result<Credentials> read_credentials(const TlsFiles& files) {
  auto ca = read_file(files.ca);
  if (!ca.ok()) return ca.failure();
  auto certificate = read_file(files.certificate);
  if (!certificate.ok()) return certificate.failure();
  auto key = read_file(files.key);
  if (!key.ok()) return key.failure();
  return Credentials{std::move(*ca), std::move(*certificate), std::move(*key)};
}

bool needs_renewal(const TlsFiles& files, WallTime now) {
  std::error_code error;
  if (!fs::exists(files.certificate, error)) return true;
  const auto text = read_file(files.certificate);
  const auto validity = text.ok() ? validity_of(*text) : text.failure();
  return validity.ok() && (is_due_for_renewal(*validity, now) || validity->not_before > now);
}

std::string serial_of(x509_st* certificate) {
  const Owned<BIGNUM> number(ASN1_INTEGER_to_BN(X509_get0_serialNumber(certificate), nullptr));
  char* const digits = number ? BN_bn2hex(number.get()) : nullptr;
  std::string text = digits == nullptr ? "" : digits;
  OPENSSL_free(digits);
  for (char& digit : text) digit = digit >= 'A' && digit <= 'F' ? static_cast<char>(digit - 'A' + 'a') : digit;
  ERR_clear_error();
  return text;
}

Result<std::string> serial_of(const std::string& certificate_pem) {
  const X509Ptr certificate = certificate_of(certificate_pem);
  if (!certificate) return fail(Error::kInvalidData, "This is not a certificate in PEM form.");
  return serial_of(certificate.get());
}

Result<Validity> validity_of(x509_st* certificate) {
  const auto from = time_of(X509_get0_notBefore(certificate));
  if (!from.ok()) return from.failure();
  const auto until = time_of(X509_get0_notAfter(certificate));
  if (!until.ok()) return until.failure();
  return Validity{*from, *until};
}

Result<Validity> validity_of(const std::string& certificate_pem) {
  const X509Ptr certificate = certificate_of(certificate_pem);
  if (!certificate) return fail(Error::kInvalidData, "This is not a certificate in PEM form.");
  return validity_of(certificate.get());
}

Result<PeerIdentity> identity_of(x509_st* certificate) {
  void* const decoded = X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr);
  const Owned<GENERAL_NAMES> names(static_cast<GENERAL_NAMES*>(decoded));
  if (!names || sk_GENERAL_NAME_num(names.get()) != 1) {
    return fail(Error::kRefused, "The certificate does not carry exactly one identity. It was not issued by a run.");
  }
  const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), 0);
  if (name->type != GEN_URI) return fail(Error::kRefused, "The certificate's identity is not a URI of a run.");
  const ASN1_IA5STRING* uri = name->d.uniformResourceIdentifier;
  return parse_identity(std::string_view(reinterpret_cast<const char*>(ASN1_STRING_get0_data(uri)),
                                         static_cast<std::size_t>(ASN1_STRING_length(uri))));
}

std::string certificate_name(x509_st* certificate) {
  const auto identity = identity_of(certificate);
  const Owned<BIGNUM> serial(ASN1_INTEGER_to_BN(X509_get0_serialNumber(certificate), nullptr));
  char* const digits = serial ? BN_bn2hex(serial.get()) : nullptr;
  if (!identity.ok() || digits == nullptr) return {};
  const std::string name = compose(role_text(identity->role), '/', identity->name, '#', digits);
  OPENSSL_free(digits);
  return name;
}

Result<PeerIdentity> identity_of(const std::string& certificate_pem) {
  const X509Ptr certificate = certificate_of(certificate_pem);
  if (!certificate) return fail(Error::kInvalidData, "This is not a certificate in PEM form.");
  return identity_of(certificate.get());
}

Result<Fingerprint> fingerprint_of(x509_st* certificate) {
  Fingerprint fingerprint{};
  unsigned int size = 0;
  if (X509_digest(certificate, EVP_sha256(), fingerprint.data(), &size) != 1 || size != fingerprint.size()) {
    return openssl_failed("hash a certificate");
  }
  return fingerprint;
}

Result<Fingerprint> fingerprint_of(const std::string& certificate_pem) {
  const X509Ptr certificate = certificate_of(certificate_pem);
  if (!certificate) return fail(Error::kInvalidData, "This is not a certificate in PEM form.");
  return fingerprint_of(certificate.get());
}

}  // namespace shoal
