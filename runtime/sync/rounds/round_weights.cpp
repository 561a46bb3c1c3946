// Counting tokens from one contribution to the next.
#include "runtime/sync/rounds/round_weights.h"

#include <algorithm>
#include <utility>

namespace shoal {

void RoundWeights::trained(std::uint64_t tokens, std::uint64_t tokens_of_stage, std::uint32_t fragment_count) {
  for (std::uint32_t fragment = 0; fragment < fragment_count; ++fragment) {
    since_[fragment].own += tokens;
    since_[fragment].others += tokens_of_stage - std::min(tokens, tokens_of_stage);
  }
}

std::uint64_t RoundWeights::contribute(std::uint32_t fragment, bool is_carriable) {
  RoundTokens& newest = newest_[fragment] = std::exchange(since_[fragment], {});
  if (!is_carriable) newest.own = 0;
  return newest.own;
}

RoundTokens RoundWeights::newest(std::uint32_t fragment) const {
  const auto known = newest_.find(fragment);
  return known == newest_.end() ? RoundTokens{} : known->second;
}

}  // namespace shoal
