// Text to tokens and back.
//
//   bytes       each byte is a token
//   gpt2        GPT-2's byte-pair encoding, from its published ranks (ranks.h), fetched when they are not there
//   *.json      the path of a tokenizer.json (tokenizer_json.h): byte-pair encoding as a published model has it
//   any other   the path of a .tiktoken file: byte-pair encoding by its ranks, with GPT-2's pieces
//
// A token stands for a fixed sequence of bytes, so that bits per byte can be told for any tokenizer. Immutable and
// thread-safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/config.h"
#include "runtime/base/error.h"

namespace shoal {

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  [[nodiscard]] virtual int vocabulary_size() const = 0;
  [[nodiscard]] virtual std::vector<std::int32_t> encode(std::string_view text) const = 0;
  // The bytes one token stands for. Ensures 0 <= token < vocabulary_size().
  [[nodiscard]] virtual std::string bytes_of(std::int32_t token) const = 0;
  // The token that ends a text; none: the tokenizer has no such token.
  [[nodiscard]] virtual std::optional<std::int32_t> end_of_text() const { return std::nullopt; }
  // False for a token that stands for no bytes of a text, as the end of one: no text is encoded as it.
  [[nodiscard]] virtual bool is_of_texts(std::int32_t token) const { return token != end_of_text(); }
  // Returns a length of at least `wanted`, or the text's, at which it may be parted without any token being another.
  [[nodiscard]] virtual std::size_t seam_after(std::string_view text, std::size_t wanted) const = 0;
  // Names the vocabulary: equal for tokenizers that encode alike. For file names and digests.
  [[nodiscard]] virtual std::string fingerprint() const = 0;
  // The bytes of all tokens, joined; not necessarily valid UTF-8.
  [[nodiscard]] std::string decode(std::span<const std::int32_t> tokens) const;
};

// Each byte is a token: vocabulary 256.
class ByteTokenizer final : public Tokenizer {
 public:
  [[nodiscard]] int vocabulary_size() const override { return 256; }
  [[nodiscard]] std::vector<std::int32_t> encode(std::string_view text) const override;
  [[nodiscard]] std::string bytes_of(std::int32_t token) const override;
  [[nodiscard]] std::size_t seam_after(std::string_view text, std::size_t wanted) const override {
    return std::min(std::max<std::size_t>(wanted, 1), text.size());
  }
  [[nodiscard]] std::string fingerprint() const override { return "bytes"; }
};

// The tokenizer of data.tokenizer. Errors: kUsage (there is no such file), kInvalidData (it is no such file), and those
// of fetch_gpt2_ranks().
[[nodiscard]] Result<std::shared_ptr<const Tokenizer>> make_tokenizer(const std::string& name);

// Returns the name of the tokenizer that makes the same tokens as this file, where one has a name, else the path.
[[nodiscard]] std::string name_or_path(const std::string& tokenizer_json);

// Checks that the configuration was made for this tokenizer, by the number of its tokens. Errors: kInvalidData.
[[nodiscard]] Status check_vocabulary(const Config& config, const Tokenizer& tokenizer);

// Completes a configuration that was just put together: where data.tokenizer is a file, model.vocabulary becomes what
// the file says. Errors: as make_tokenizer, and kInvalidData where the configuration says another number: it was made
// for another file of that name.
[[nodiscard]] Status settle_vocabulary(Config& config);

}  // namespace shoal
