// A store of a text's tokens: the interface below the split into training and validation (tokens.h).
//
// Immutable and thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "runtime/base/error.h"

namespace shoal {

class TokenStore {
 public:
  virtual ~TokenStore() = default;

  [[nodiscard]] virtual std::uint64_t count() const = 0;
  // Copies tokens [offset, offset + out.size()), which exist (ensured). Errors: kInvalidData or kIo, naming the file.
  [[nodiscard]] virtual Status read(std::uint64_t offset, std::span<std::int32_t> out) const = 0;
  // Digest by which a run knows its text again.
  [[nodiscard]] virtual std::string sha256() const = 0;
  // Files whose tokens they are, one per line, the name first; empty where there is only one.
  [[nodiscard]] virtual std::string list() const { return {}; }
};

}  // namespace shoal
