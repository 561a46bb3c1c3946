// Sampling by the inverse of the distribution function, in double.
#include "model/sampler.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "runtime/base/counter_random.h"
#include "runtime/base/ensure.h"

namespace shoal {

std::int32_t pick_token(const SamplerConfig& config, std::span<const float> logits, std::uint64_t position) {
  ENSURE(!logits.empty(), "logits of at least one token");
  std::vector<std::int32_t> tokens(logits.size());
  std::iota(tokens.begin(), tokens.end(), 0);
  const auto logit = [&](std::int32_t token) { return logits[static_cast<std::size_t>(token)]; };
  const auto likelier = [&](std::int32_t a, std::int32_t b) {
    return logit(a) > logit(b) || (logit(a) == logit(b) && a < b);
  };
  if (config.temperature <= 0) return *std::min_element(tokens.begin(), tokens.end(), likelier);
  if (config.top_k > 0 && static_cast<std::size_t>(config.top_k) < tokens.size()) {
    std::partial_sort(tokens.begin(), tokens.begin() + config.top_k, tokens.end(), likelier);
    tokens.resize(static_cast<std::size_t>(config.top_k));
  }
  const double highest = logit(*std::min_element(tokens.begin(), tokens.end(), likelier));
  std::vector<double> reached(tokens.size());
  double total = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    total += std::exp((logit(tokens[i]) - highest) / config.temperature);
    reached[i] = total;
  }
  const auto words = philox4x32(philox_counter(position, stream_of("sample")), philox_key(config.seed));
  const double wanted = uniform01(words[0], words[1]) * total;
  const auto found = std::upper_bound(reached.begin(), reached.end(), wanted);
  return tokens[static_cast<std::size_t>(std::min(found, reached.end() - 1) - reached.begin())];
}

}  // namespace shoal
