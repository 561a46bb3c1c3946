// Byte-pair encoding by ranks, as GPT-2 has it.
//
// Text is cut into pieces (pretokenizer.h). A piece that is a token is that token; in any other the neighbours whose
// joined bytes have the least rank are merged, the leftmost of equals first, until no two neighbours are a token
// together. That takes O(n log n) for a piece of n bytes, so that no text is slow. Every byte is a token: any text can
// be encoded, UTF-8 or not, and decoding gives back its very bytes.
//
// The end of text is one token more, behind the ranks. No text is encoded as it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/data/pretokenizer.h"
#include "runtime/data/tokenizer.h"

namespace shoal {

class BpeTokenizer final : public Tokenizer {
 public:
  // tokens: by rank, as parse_ranks() gives them; sha256: of the file they came from, in hex.
  BpeTokenizer(std::vector<std::string> tokens, std::string sha256);

  [[nodiscard]] int vocabulary_size() const override { return static_cast<int>(tokens_.size()) + 1; }
  [[nodiscard]] std::vector<std::int32_t> encode(std::string_view text) const override;
  // The end of text has the bytes "<|endoftext|>".
  [[nodiscard]] std::string bytes_of(std::int32_t token) const override;
  [[nodiscard]] std::optional<std::int32_t> end_of_text() const override {
    return static_cast<std::int32_t>(tokens_.size());
  }
  [[nodiscard]] std::string fingerprint() const override { return sha256_; }

  // The tokens of one piece, as if it were not a token itself: what merging alone gives.
  [[nodiscard]] std::vector<std::int32_t> merge(std::string_view piece) const;

 private:
  std::vector<std::string> tokens_;
  std::unordered_map<std::string_view, std::int32_t> ranks_;  // keys point into tokens_
  std::string sha256_;
  Pretokenizer pretokenizer_;
};

}  // namespace shoal
