// SHA-256 by OpenSSL's EVP interface, which picks the processor's instructions for it.
#include "runtime/base/sha256.h"

#include <openssl/evp.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

#include "runtime/base/compose.h"

namespace shoal {

struct Sha256::Context {
  EVP_MD_CTX* evp = EVP_MD_CTX_new();
  bool ended = false;

  Context() { ENSURE(evp != nullptr && EVP_DigestInit_ex(evp, EVP_sha256(), nullptr) == 1, "OpenSSL offers SHA-256"); }
  ~Context() { EVP_MD_CTX_free(evp); }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::update(const void* data, std::size_t size) {
  ENSURE(!context_->ended, "a digest is not continued after hex()");
  if (size == 0) return;
  ENSURE(EVP_DigestUpdate(context_->evp, data, size) == 1, "SHA-256 takes bytes in memory without fail");
}

std::string Sha256::hex() {
  ENSURE(!context_->ended, "a digest ends once");
  context_->ended = true;
  std::array<unsigned char, 32> digest{};
  ENSURE(EVP_DigestFinal_ex(context_->evp, digest.data(), nullptr) == 1, "SHA-256 ends without fail");
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * digest.size());
  for (const unsigned char byte : digest) {
    text += kDigits[byte >> 4U];
    text += kDigits[byte & 15U];
  }
  return text;
}

std::string sha256_hex(std::span<const std::byte> bytes) {
  Sha256 digest;
  digest.update(bytes.data(), bytes.size());
  return digest.hex();
}

std::string sha256_hex(std::string_view text) { return sha256_hex(std::as_bytes(std::span(text.data(), text.size()))); }

Result<std::string> sha256_file(const std::filesystem::path& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (!file) return fail(Error::kIo, compose("cannot open ", path.string(), ": ", std::strerror(errno)));
  Sha256 digest;
  std::vector<char> piece(std::size_t{1} << 20U);
  while (const std::size_t count = std::fread(piece.data(), 1, piece.size(), file.get())) {
    digest.update(piece.data(), count);
  }
  if (std::ferror(file.get()) != 0) {
    return fail(Error::kIo, compose("cannot read ", path.string(), ": ", std::strerror(errno)));
  }
  return digest.hex();
}

}  // namespace shoal
