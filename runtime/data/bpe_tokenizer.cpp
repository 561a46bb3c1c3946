// Merging with a heap of candidate pairs over a linked list of parts.
#include "runtime/data/bpe_tokenizer.h"

#include <algorithm>
#include <limits>
#include <queue>
#include <tuple>
#include <utility>

#include "runtime/base/ensure.h"

namespace shoal {
namespace {

using Ranks = std::unordered_map<std::string_view, std::int32_t>;

// Bounds what is remembered of one text's words; words come again, long ones hardly ever.
constexpr std::size_t kRememberedMax = 1U << 16U;
constexpr std::size_t kRememberedLength = 64;

// Two neighbours that are a token together. The least is merged first.
struct Pair {
  std::int32_t rank = 0;
  std::uint32_t begin = 0;   // begin of the left part, in bytes of the piece
  std::uint32_t middle = 0;  // begin of the right part
  std::uint32_t end = 0;
  friend bool operator>(const Pair& a, const Pair& b) { return std::tie(a.rank, a.begin) > std::tie(b.rank, b.begin); }
};

// A piece on its way from bytes to tokens. A part is known by where it begins.
class Merging {
 public:
  Merging(std::string_view piece, const Ranks& ranks) : piece_(piece), ranks_(ranks) {
    ENSURE(piece.size() < kGone, "a piece is smaller than 4 GB");
    const auto size = static_cast<std::uint32_t>(piece.size());
    for (std::uint32_t at = 0; at < size; ++at) {
      end_.push_back(at + 1);
      before_.push_back(at == 0 ? kGone : at - 1);
    }
    for (std::uint32_t at = 0; at + 1 < size; ++at) consider(at);
    while (!pairs_.empty()) merge_least();
  }

  void append_to(std::vector<std::int32_t>& tokens) const {
    for (std::uint32_t at = 0; at < piece_.size(); at = end_[at]) {
      tokens.push_back(ranks_.at(piece_.substr(at, end_[at] - at)));
    }
  }

 private:
  static constexpr std::uint32_t kGone = std::numeric_limits<std::uint32_t>::max();

  // Notes the part at `begin` and the next one, if there is one and they are a token together.
  void consider(std::uint32_t begin) {
    const std::uint32_t middle = end_[begin];
    if (middle == piece_.size()) return;
    const std::uint32_t end = end_[middle];
    const auto found = ranks_.find(piece_.substr(begin, end - begin));
    if (found != ranks_.end()) pairs_.push(Pair{found->second, begin, middle, end});
  }

  void merge_least() {
    const Pair pair = pairs_.top();
    pairs_.pop();
    // One of the two was merged with another neighbour meanwhile: that one has been considered since.
    const bool is_current = end_[pair.begin] == pair.middle && end_[pair.middle] == pair.end;
    if (!is_current) return;
    end_[pair.begin] = pair.end;
    end_[pair.middle] = kGone;
    if (pair.end < piece_.size()) before_[pair.end] = pair.begin;
    if (before_[pair.begin] != kGone) consider(before_[pair.begin]);
    consider(pair.begin);
  }

  std::string_view piece_;
  const Ranks& ranks_;
  std::vector<std::uint32_t> end_;     // by the part's begin; kGone where no part begins
  std::vector<std::uint32_t> before_;  // begin of the part before; kGone: none
  std::priority_queue<Pair, std::vector<Pair>, std::greater<>> pairs_;
};

}  // namespace

BpeTokenizer::BpeTokenizer(std::vector<std::string> tokens, std::string sha256)
    : tokens_(std::move(tokens)), sha256_(std::move(sha256)) {
  ENSURE(tokens_.size() < static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()), "tokens are int32");
  ranks_.reserve(tokens_.size());
  for (std::size_t rank = 0; rank < tokens_.size(); ++rank) {
    ranks_.emplace(tokens_[rank], static_cast<std::int32_t>(rank));
  }
  for (int byte = 0; byte < 256; ++byte) {
    const char character = static_cast<char>(byte);
    ENSURE(ranks_.contains(std::string_view(&character, 1)), "every byte is a token");
  }
}

std::vector<std::int32_t> BpeTokenizer::encode(std::string_view text) const {
  std::vector<std::int32_t> tokens;
  std::unordered_map<std::string_view, std::vector<std::int32_t>> remembered;
  for (const std::string_view piece : pretokenizer_.cut(text)) {
    if (const auto whole = ranks_.find(piece); whole != ranks_.end()) {
      tokens.push_back(whole->second);
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
  return token == end_of_text() ? "<|endoftext|>" : tokens_[static_cast<std::size_t>(token)];
}

}  // namespace shoal
