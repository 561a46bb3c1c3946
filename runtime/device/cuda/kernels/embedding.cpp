// A counting of tokens, by a stable sort: positions of one token stay in order.
#include "runtime/device/cuda/kernels/embedding.h"

#include <algorithm>
#include <numeric>

namespace shoal::gpu {

EmbeddingPlan embedding_plan(std::span<const std::int32_t> tokens) {
  EmbeddingPlan plan;
  plan.positions.resize(tokens.size());
  std::iota(plan.positions.begin(), plan.positions.end(), 0);
  const auto token_at = [tokens](std::int32_t position) { return tokens[static_cast<std::size_t>(position)]; };
  std::ranges::stable_sort(plan.positions, {}, token_at);
  for (std::size_t i = 0; i < plan.positions.size(); ++i) {
    const std::int32_t token = token_at(plan.positions[i]);
    const bool is_of_row = !plan.rows.empty() && plan.rows.back() == token;
    if (is_of_row && i - static_cast<std::size_t>(plan.starts.back()) < kPiecePositions) continue;
    if (!is_of_row) {
      plan.rows.push_back(token);
      plan.pieces.push_back(static_cast<std::int32_t>(plan.starts.size()));
    }
    plan.starts.push_back(static_cast<std::int32_t>(i));
  }
  plan.pieces.push_back(static_cast<std::int32_t>(plan.starts.size()));
  plan.starts.push_back(static_cast<std::int32_t>(plan.positions.size()));
  return plan;
}

}  // namespace shoal::gpu
