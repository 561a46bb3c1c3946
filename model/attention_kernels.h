// The loops of attention between its products, a row of scores at a time, over plain memory. Torch-free.
//
//   weights = softmax(scale scores),  dscores = scale weights (dweights - delta),  delta = sum of dy y
//
// Dao et al., "FlashAttention" (2022). Sums are made in 16 lanes, added in order: the same bits for any vector
// instructions. bf16 values are given as their bits.
#pragma once

#include <cstdint>
#include <span>

namespace shoal {

struct SoftmaxRow {
  float peak = 0;  // the largest scale * score
  float sum = 0;   // of exp(scale * score - peak)
};

// weights[i] = exp(scale scores[i] - peak), which the row's sum divides.
[[nodiscard]] SoftmaxRow softmax_row(std::span<const float> scores, float scale, std::span<std::uint16_t> weights);

// Figures of a row of queries that are known when its gradient is computed.
struct KnownRow {
  float scale = 0;
  float logsumexp = 0;  // peak + log(sum)
  float delta = 0;
};
// weights and dscores out of scores and dweights.
struct RowGradients {
  std::span<std::uint16_t> weights, dscores;
};
void softmax_row_backward(std::span<const float> scores, std::span<const float> dweights, const KnownRow& row,
                          const RowGradients& to);

// Sum of a[i] b[i].
[[nodiscard]] float dot(std::span<const std::uint16_t> a, std::span<const std::uint16_t> b);

// to[i] = factor from[i].
void scale_to_bf16(std::span<const float> from, float factor, std::span<std::uint16_t> to);

}  // namespace shoal
