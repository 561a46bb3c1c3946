// Causal attention in bf16, forward and backward: FlashAttention's algorithm (Dao et al., 2022) with scores, sums and
// gradients of weights in float32, and products by torch's BLAS.
//
// Torch's own operator for the CPU takes bf16, and its backward is no faster than in float32: 15 ms where this one
// takes 6 (one layer of the large size of tests/bench, one core of Zen 5). Scores above the diagonal are computed for
// no more than a block of queries. A head depends on nothing but its own values: any number of threads gives the same
// bits.
#pragma once

#include <ATen/core/Tensor.h>

namespace shoal {

struct AttentionResult {
  at::Tensor y_BHTD;         // bf16, laid out as [B,T,H,D]
  at::Tensor logsumexp_BHT;  // float32, of the scaled scores
};
// q, k, v: bf16 [B,H,T,D] of any strides. Differentiable.
[[nodiscard]] AttentionResult bf16_attention(const at::Tensor& q_BHTD, const at::Tensor& k_BHTD,
                                             const at::Tensor& v_BHTD);

struct AttentionInputs {
  at::Tensor q_BHTD, k_BHTD, v_BHTD;
};
// Gradients of q, k and v, laid out as [B,T,H,D].
[[nodiscard]] AttentionInputs bf16_attention_backward(const at::Tensor& dy_BHTD, const AttentionInputs& x,
                                                      const AttentionResult& result);

}  // namespace shoal
