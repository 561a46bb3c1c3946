// The tokens of a text, mapped into memory, and their split into training and validation.
//
//   [0, train)       training: floor(N * fraction) fewer than all
//   [train, N)       validation: the end of the text, never trained on
//
// With the byte tokenizer the text itself is the token file (uint8); with any other one there is a file of tokens in
// corpora_folder() (token_file.h). These are mapped, and may not be shortened meanwhile: reading behind the new end is
// a bus error. Shards (shards/shard_set.h) are tokens already. Immutable and thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "runtime/base/config.h"
#include "runtime/base/error.h"
#include "runtime/data/shards/shard_set.h"
#include "runtime/data/token_store.h"
#include "runtime/data/tokenizers/tokenizer.h"

namespace shoal {

struct TokenSplit {
  std::uint64_t train = 0;
  std::uint64_t validation = 0;
};

// validation = floor(tokens * validation_fraction), in double; train = the rest. 0 <= validation_fraction <= 1.
[[nodiscard]] TokenSplit split_tokens(std::uint64_t tokens, double validation_fraction);

class Tokens {
 public:
  // Maps a file of byte tokens. Errors: kInvalidData when it is missing, not a file, unreadable or empty.
  [[nodiscard]] static Result<std::shared_ptr<const Tokens>> open(const std::filesystem::path& path,
                                                                  double validation_fraction);
  // Encodes a text with this tokenizer; the tokens are kept in `folder`. Errors: those of open(), and kIo.
  [[nodiscard]] static Result<std::shared_ptr<const Tokens>> encode(const std::filesystem::path& path,
                                                                    double validation_fraction,
                                                                    const Tokenizer& tokenizer,
                                                                    const std::filesystem::path& folder);
  Tokens(const Tokens&) = delete;
  Tokens& operator=(const Tokens&) = delete;

  // Tokens of any store. path: what messages call them.
  [[nodiscard]] static std::shared_ptr<const Tokens> of(std::filesystem::path path,
                                                        std::unique_ptr<const TokenStore> store,
                                                        double validation_fraction);

  [[nodiscard]] std::uint64_t count() const { return store_->count(); }
  [[nodiscard]] TokenSplit split() const { return split_; }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  // Copies tokens [offset, offset + out.size()). Ensures that they exist. Errors: a shard cannot be read (any more).
  [[nodiscard]] Status read(std::uint64_t offset, std::span<std::int32_t> out) const {
    return store_->read(offset, out);
  }
  // Digest of the text's bytes: goes into checkpoints, so that a run never resumes on another text. Where the ranks are
  // not GPT-2's it covers both digests: the path of a tokenizer does not say what is in it. May read everything, but of
  // shards their fingerprints.
  [[nodiscard]] std::string corpus_sha256() const { return store_->sha256(); }
  // One line per shard; empty: the text is no shards.
  [[nodiscard]] std::string shard_list() const { return store_->list(); }

 private:
  Tokens(std::filesystem::path path, std::unique_ptr<const TokenStore> store, double validation_fraction)
      : path_(std::move(path)), store_(std::move(store)), split_(split_tokens(count(), validation_fraction)) {}

  std::filesystem::path path_;
  std::unique_ptr<const TokenStore> store_;
  TokenSplit split_;
};

// Checks that both parts are long enough: 2 x context training tokens (a window at any shift, order.h) and context + 1
// validation tokens. Errors: kInvalidData with both lengths and what to change.
[[nodiscard]] Status check_length(const Tokens& tokens, int context);

// A text to evaluate on and not to train: all of it is validation. Errors: as open_tokens, and when it has fewer than
// 2 tokens. vocabulary: the model's, which shards may have more of than the tokenizer.
[[nodiscard]] Result<std::shared_ptr<const Tokens>> open_evaluation_text(const std::filesystem::path& path,
                                                                         const Tokenizer& tokenizer, int vocabulary);

// Everything between data.* and tokens: obtains the corpus (text.h) and the tokenizer, maps the tokens and checks their
// number. list: of shards that were opened before (Tokens::shard_list()); then exactly those are opened, whatever else
// lies beside them, and whether each holds what it held is for the caller to compare.
[[nodiscard]] Result<std::shared_ptr<const Tokens>> open_tokens(const Config& config, std::string_view list = {});

}  // namespace shoal
