// Owners of OpenSSL's objects, and its error queue as a sentence. Included by sources of this folder only.
//
// The queue is per thread and never cleared by OpenSSL: an old entry turns the next "want read" of a healthy session
// into a failure. Therefore ERR_clear_error() stands before every SSL_* I/O call of ours.
#pragma once

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>

namespace shoal {

// Sizes for OpenSSL, which takes an int: what is more is left for the next call.
inline constexpr std::size_t kIoBytesMax = 1u << 30;
[[nodiscard]] inline int io_size(std::size_t size) { return static_cast<int>(std::min(size, kIoBytesMax)); }

struct OpensslDeleter {
  void operator()(BIO* x) const { BIO_free_all(x); }
  void operator()(EVP_PKEY* x) const { EVP_PKEY_free(x); }
  void operator()(X509* x) const { X509_free(x); }
  void operator()(X509_REQ* x) const { X509_REQ_free(x); }
  void operator()(X509_EXTENSION* x) const { X509_EXTENSION_free(x); }
  void operator()(X509_STORE* x) const { X509_STORE_free(x); }
  void operator()(X509_STORE_CTX* x) const { X509_STORE_CTX_free(x); }
  void operator()(GENERAL_NAMES* x) const { GENERAL_NAMES_free(x); }
  void operator()(BIGNUM* x) const { BN_free(x); }
  void operator()(SSL_CTX* x) const { SSL_CTX_free(x); }
  void operator()(SSL* x) const { SSL_free(x); }
};
template <class T>
using Owned = std::unique_ptr<T, OpensslDeleter>;

using BioPtr = Owned<BIO>;
using KeyPtr = Owned<EVP_PKEY>;
using X509Ptr = Owned<X509>;
using RequestPtr = Owned<X509_REQ>;

// The newest entry of this thread's error queue, which it empties. "no reason given" when there is none.
[[nodiscard]] inline std::string take_openssl_error() {
  const unsigned long code = ERR_peek_last_error();
  ERR_clear_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  return reason == nullptr ? "no reason given" : reason;
}

}  // namespace shoal
