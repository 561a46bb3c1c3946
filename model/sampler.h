// Picks the next token from logits: temperature, top-k, and a random number that depends on (seed, position) alone.
//
// Pure and without torch.
#pragma once

#include <cstdint>
#include <span>

namespace shoal {

struct SamplerConfig {
  double temperature = 1;  // 0: always the most likely token
  int top_k = 0;           // 0: all tokens
  std::uint64_t seed = 1;
};

// logits: one per token of the vocabulary, at least one (ensured). position: how many tokens were picked before.
// Among equal logits the smaller token comes first.
[[nodiscard]] std::int32_t pick_token(const SamplerConfig& config, std::span<const float> logits,
                                      std::uint64_t position);

}  // namespace shoal
