// SHA-256 for files, corpora, checkpoints and weights_sha256: OpenSSL's, behind a header without OpenSSL.
//
// Hex is always 64 lower-case digits. Not thread-safe; one object per digest.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "runtime/base/error.h"

namespace shoal {

// Incremental. hex() ends the digest: update() or hex() after it is a bug (ENSURE).
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;

  void update(const void* data, std::size_t size);
  void update(std::string_view text) { update(text.data(), text.size()); }
  [[nodiscard]] std::string hex();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

[[nodiscard]] std::string sha256_hex(std::span<const std::byte> bytes);
[[nodiscard]] std::string sha256_hex(std::string_view text);

// Reads a whole file in pieces. kIo when it cannot be read.
[[nodiscard]] Result<std::string> sha256_file(const std::filesystem::path& path);

}  // namespace shoal
