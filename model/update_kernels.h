// The element-wise arithmetic of a step: accumulate, mean, norm, update. Torch-free loops over plain memory.
//
// Every result depends on its own element alone (norms: on fixed blocks), through explicit fma and without contraction,
// so that no bit depends on how a buffer is split, how it is aligned or which vector instructions the CPU has. A
// library's fused optimiser did not keep that (DESIGN.md §4.10). Tested with random splits.
#pragma once

#include <cstdint>
#include <span>

#include "model/arithmetic/step_elements.h"

namespace shoal {

// Exact mode's fixed point (DESIGN.md §4.9): F = 56 - ceil(log2(planned tokens)) fraction bits.
[[nodiscard]] int fraction_bits(std::uint64_t planned_tokens);

// No NaN, no infinity, and |value| <= limit for all values.
[[nodiscard]] bool all_within(std::span<const float> values, float limit);

// sums[i] += round(values[i] * 2^fraction_bits), halves away from zero. The caller has checked the range.
void accumulate_exact(std::span<const float> values, int fraction_bits, std::span<std::int64_t> sums);
// sums[i] += values[i].
void accumulate_fast(std::span<const float> values, std::span<float> sums);

// means[i] = float(double(sums[i]) * 2^-fraction_bits / tokens): one rounding to float32 at the end.
void mean_of_exact(std::span<const std::int64_t> sums, int fraction_bits, std::uint64_t tokens, std::span<float> means);
// means[i] = float(double(sums[i]) / tokens).
void mean_of_fast(std::span<const float> sums, std::uint64_t tokens, std::span<float> means);

// Sum of squares in double: blocks of 4096 elements from the tensor's start; in a block 16 lanes (element i goes to
// lane i mod 16), the lanes added in order. Then the blocks of each group of 256 in order, then the groups in order.
[[nodiscard]] double squared_norm(std::span<const float> values);

struct AdamwRule {
  double learning_rate = 0;
  double clip_scale = 1;
  double beta1 = 0;
  double beta2 = 0;
  double eps = 0;
  double weight_decay = 0;  // this tensor's decay; 0 where it does not decay
  std::uint64_t optimizer_step = 1;
};

[[nodiscard]] AdamwCoefficients adamw_coefficients(const AdamwRule& rule);

struct AdamwTensor {
  std::span<float> weights, exp_avg, exp_avg_sq;
  std::span<const float> gradient;
};

// PyTorch's AdamW (Loshchilov and Hutter 2019), float32: p *= decay; m += (1-beta1)(g-m); v = beta2 v + (1-beta2) g g;
// p -= step_size * m / (sqrt(v) / root_correction + eps), with g = clip_scale * gradient.
void apply_adamw(const AdamwCoefficients& coefficients, const AdamwTensor& tensor);

// SGD without momentum: p = p * decay - lr * clip_scale * gradient.
void apply_sgd(const SgdCoefficients& coefficients, std::span<float> weights, std::span<const float> gradient);

}  // namespace shoal
