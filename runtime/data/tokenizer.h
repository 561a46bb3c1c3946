// Text to tokens and back.
//
// A token stands for a fixed sequence of bytes, so that bits per byte can be told for any tokenizer. Immutable and
// thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/error.h"

namespace shoal {

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  [[nodiscard]] virtual int vocabulary_size() const = 0;
  [[nodiscard]] virtual std::vector<std::int32_t> encode(std::string_view text) const = 0;
  // The bytes one token stands for. CHECKs 0 <= token < vocabulary_size().
  [[nodiscard]] virtual std::string bytes_of(std::int32_t token) const = 0;
  // The bytes of all tokens, joined; not necessarily valid UTF-8.
  [[nodiscard]] std::string decode(std::span<const std::int32_t> tokens) const;
};

// Each byte is a token: vocabulary 256.
class ByteTokenizer final : public Tokenizer {
 public:
  [[nodiscard]] int vocabulary_size() const override { return 256; }
  [[nodiscard]] std::vector<std::int32_t> encode(std::string_view text) const override;
  [[nodiscard]] std::string bytes_of(std::int32_t token) const override;
};

// The tokenizer of data.tokenizer. Only "bytes" exists in this version; others are kUsage.
[[nodiscard]] Result<std::shared_ptr<const Tokenizer>> make_tokenizer(const std::string& name);

}  // namespace shoal
