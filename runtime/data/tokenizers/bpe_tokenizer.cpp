// Merging with a heap of candidate pairs over a linked list of parts.
#include "runtime/data/tokenizers/bpe_tokenizer.h"

#include <algorithm>
#include <limits>
#include <queue>
#include <tuple>
#include <utility>

#include "runtime/base/ensure.h"

namespace shoal {
namespace {

// Bounds what is remembered of one text's words; words come again, long ones hardly ever.
constexpr std::size_t kRememberedMax = 1U << 16U;
constexpr std::size_t kRememberedLength = 64;

// Two neighbours that may be merged. The least is merged first.
struct Pair {
  std::int32_t rank = 0;
  std::int32_t token = 0;    // which both make
  std::uint32_t begin = 0;   // begin of the left part, in bytes of the piece
  std::uint32_t middle = 0;  // begin of the right part
  std::uint32_t end = 0;
  friend bool operator>(const Pair& a, const Pair& b) { return std::tie(a.rank, a.begin) > std::tie(b.rank, b.begin); }
};

// A piece on its way from bytes to tokens. A part is known by where it begins.
class Merging {
 public:
  Merging(std::string_view piece, const MergeRanks& ranks) : piece_(piece), ranks_(ranks) {
    ENSURE(piece.size() < kGone, "a piece is smaller than 4 GB");
    const auto size = static_cast<std::uint32_t>(piece.size());
    for (std::uint32_t at = 0; at < size; ++at) {
      end_.push_back(at + 1);
      before_.push_back(at == 0 ? kGone : at - 1);
      token_.push_back(*ranks_.token_of(piece.substr(at, 1)));
    }
    for (std::uint32_t at = 0; at + 1 < size; ++at) consider(at);
    while (!pairs_.empty()) merge_least();
  }

  void append_to(std::vector<std::int32_t>& tokens) const {
    for (std::uint32_t at = 0; at < piece_.size(); at = end_[at]) tokens.push_back(token_[at]);
  }

 private:
  static constexpr std::uint32_t kGone = std::numeric_limits<std::uint32_t>::max();

  // Notes the part at `begin` and the next one, if there is one and they may be merged.
  void consider(std::uint32_t begin) {
    const std::uint32_t middle = end_[begin];
    if (middle == piece_.size()) return;
    const std::uint32_t end = end_[middle];
    const auto merge = ranks_.merge_of(token_[begin], token_[middle], piece_.substr(begin, end - begin));
    if (merge) pairs_.push(Pair{merge->rank, merge->token, begin, middle, end});
  }

  void merge_least() {
    const Pair pair = pairs_.top();
    pairs_.pop();
    // One of the two was merged with another neighbour meanwhile: that one has been considered since.
    const bool is_current = end_[pair.begin] == pair.middle && end_[pair.middle] == pair.end;
    if (!is_current) return;
    end_[pair.begin] = pair.end;
    token_[pair.begin] = pair.token;
    end_[pair.middle] = kGone;
    if (pair.end < piece_.size()) before_[pair.end] = pair.begin;
    if (before_[pair.begin] != kGone) consider(before_[pair.begin]);
    consider(pair.begin);
  }

  std::string_view piece_;
  const MergeRanks& ranks_;
  std::vector<std::int32_t> token_;    // by the part's begin
  std::vector<std::uint32_t> end_;     // by the part's begin; kGone where no part begins
  std::vector<std::uint32_t> before_;  // begin of the part before; kGone: none
  std::priority_queue<Pair, std::vector<Pair>, std::greater<>> pairs_;
};

std::uint64_t key_of(std::int32_t left, std::int32_t right) {
  return std::uint64_t{static_cast<std::uint32_t>(left)} << 32U | static_cast<std::uint32_t>(right);
}

BpeModel model_of_ranks(std::vector<std::string> tokens) {
  BpeModel model;
  model.tokens = std::move(tokens);
  model.end_of_text = static_cast<std::int32_t>(model.tokens.size());
  model.specials = {*model.end_of_text};
  model.tokens.emplace_back("<|endoftext|>");
  return model;
}

}  // namespace

void MergeRanks::add_merge(std::int32_t left, std::int32_t right, Merge merge) {
  pairs_->insert_or_assign(key_of(left, right), merge);
}

std::optional<std::int32_t> MergeRanks::token_of(std::string_view bytes) const {
  const auto found = tokens_.find(bytes);
  return found == tokens_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<MergeRanks::Merge> MergeRanks::merge_of(std::int32_t left, std::int32_t right,
                                                      std::string_view joined) const {
  if (!pairs_) {
    const auto token = token_of(joined);
    return token ? std::optional(Merge{*token, *token}) : std::nullopt;
  }
  const auto found = pairs_->find(key_of(left, right));
  return found == pairs_->end() ? std::nullopt : std::optional(found->second);
}

BpeTokenizer::BpeTokenizer(BpeModel model, std::string sha256)
    : model_(std::move(model)), sha256_(std::move(sha256)), pretokenizer_(model_.pieces) {
  ENSURE(model_.tokens.size() < static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()), "tokens are int32");
  for (std::int32_t token = 0; token < vocabulary_size(); ++token) {
    if (is_of_texts(token)) ranks_.add_token(model_.tokens[static_cast<std::size_t>(token)], token);
  }
  for (int byte = 0; byte < 256; ++byte) {
    const char character = static_cast<char>(byte);
    ENSURE(ranks_.token_of(std::string_view(&character, 1)), "every byte is a token");
  }
  if (!model_.merges) return;
  ranks_.only_listed();
  for (std::size_t rank = 0; rank < model_.merges->size(); ++rank) {
    const auto& [left, right] = (*model_.merges)[rank];
    const auto joined = ranks_.token_of(bytes_of(left) + bytes_of(right));
    ENSURE(joined, "what is merged is a token");
    ranks_.add_merge(left, right, {static_cast<std::int32_t>(rank), *joined});
  }
}

BpeTokenizer::BpeTokenizer(std::vector<std::string> tokens, std::string sha256)
    : BpeTokenizer(model_of_ranks(std::move(tokens)), std::move(sha256)) {}

bool BpeTokenizer::is_of_texts(std::int32_t token) const { return !std::ranges::binary_search(model_.specials, token); }

std::vector<std::int32_t> BpeTokenizer::encode(std::string_view text) const {
  std::vector<std::int32_t> tokens;
  std::unordered_map<std::string_view, std::vector<std::int32_t>> remembered;
  for (const std::string_view piece : pretokenizer_.cut(text)) {
    if (const auto whole = model_.takes_whole_pieces ? ranks_.token_of(piece) : std::nullopt) {
      tokens.push_back(*whole);
      continue;
    }
    auto known = remembered.find(piece);
    const bool is_worth_it = piece.size() <= kRememberedLength && remembered.size() < kRememberedMax;
    if (known == remembered.end() && is_worth_it) known = remembered.emplace(piece, merge(piece)).first;
    const auto& parts = known != remembered.end() ? known->second : merge(piece);
    tokens.insert(tokens.end(), parts.begin(), parts.end());
  }
  return tokens;
}

std::vector<std::int32_t> BpeTokenizer::merge(std::string_view piece) const {
  std::vector<std::int32_t> tokens;
  Merging(piece, ranks_).append_to(tokens);
  return tokens;
}

std::string BpeTokenizer::bytes_of(std::int32_t token) const {
  ENSURE(token >= 0 && token < vocabulary_size(), "a token of the vocabulary");
  return model_.tokens[static_cast<std::size_t>(token)];
}

}  // namespace shoal
