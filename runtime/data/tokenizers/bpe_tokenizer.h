// Byte-pair encoding, as GPT-2 and the models after it have it.
//
// Text is cut into pieces (pretokenizer.h). A piece that is a token is that token, where the model has it so; in any
// other the neighbours whose merge has the least rank are merged, the leftmost of equals first, until none may be.
// Ranks are those of listed pairs, or of tokens: then any two neighbours that are a token together may be merged. That
// takes O(n log n) for a piece of n bytes, so that no text is slow. Every byte is a token: any text can be encoded,
// UTF-8 or not, and decoding gives back its very bytes.
//
// Special tokens (the end of text, roles in a dialogue) are no bytes of a text: no text is encoded as one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/data/tokenizers/pretokenizer.h"
#include "runtime/data/tokenizers/tokenizer.h"

namespace shoal {

// Says which token two neighbours make, and which are merged first.
class MergeRanks {
 public:
  struct Merge {
    std::int32_t rank = 0;
    std::int32_t token = 0;
  };

  // Names a token by its bytes, which must outlive this.
  void add_token(std::string_view bytes, std::int32_t token) { tokens_.emplace(bytes, token); }
  // Lets only pairs that are added be merged from here on.
  void only_listed() { pairs_.emplace(); }
  // Call only_listed() first. Of a pair that is added twice the last one counts.
  void add_merge(std::int32_t left, std::int32_t right, Merge merge);

  [[nodiscard]] std::optional<std::int32_t> token_of(std::string_view bytes) const;
  // joined: the bytes of both.
  [[nodiscard]] std::optional<Merge> merge_of(std::int32_t left, std::int32_t right, std::string_view joined) const;

 private:
  std::unordered_map<std::string_view, std::int32_t> tokens_;
  std::optional<std::unordered_map<std::uint64_t, Merge>> pairs_;  // by both numbers
};

// An encoding as a file describes it. Tokens are by number, none is empty, and of those that are no special ones no two
// are equal and every single byte is one (ensured).
struct BpeModel {
  std::vector<std::string> tokens;     // bytes; of a special one its name
  std::vector<std::int32_t> specials;  // ascending
  std::optional<std::int32_t> end_of_text;
  // Pairs of tokens whose joined bytes are a token (ensured), the first to merge first, and a pair that is there twice
  // where it is last; nothing: by tokens' numbers.
  std::optional<std::vector<std::pair<std::int32_t, std::int32_t>>> merges;
  bool takes_whole_pieces = true;  // a piece that is a token is not merged
  Pieces pieces = Pieces::kGpt2;
};

class BpeTokenizer final : public Tokenizer {
 public:
  // sha256: of the file that the model came from, in hex.
  BpeTokenizer(BpeModel model, std::string sha256);
  // tokens: by rank, as parse_ranks() gives them. The end of text is one more behind them, "<|endoftext|>".
  BpeTokenizer(std::vector<std::string> tokens, std::string sha256);

  [[nodiscard]] int vocabulary_size() const override { return static_cast<int>(model_.tokens.size()); }
  [[nodiscard]] std::vector<std::int32_t> encode(std::string_view text) const override;
  // A special token has its name's.
  [[nodiscard]] std::string bytes_of(std::int32_t token) const override;
  [[nodiscard]] std::optional<std::int32_t> end_of_text() const override { return model_.end_of_text; }
  [[nodiscard]] bool is_of_texts(std::int32_t token) const override;
  [[nodiscard]] std::size_t seam_after(std::string_view text, std::size_t wanted) const override {
    return pretokenizer_.seam_after(text, wanted);
  }
  [[nodiscard]] std::string fingerprint() const override { return sha256_; }

  // The tokens of one piece, as if it were not a token itself: what merging alone gives.
  [[nodiscard]] std::vector<std::int32_t> merge(std::string_view piece) const;

 private:
  BpeModel model_;
  MergeRanks ranks_;  // its keys point into model_.tokens
  std::string sha256_;
  Pretokenizer pretokenizer_;
};

}  // namespace shoal
