// GELU in its tanh form, the gate of SwiGLU, and their gradients, over plain memory. Torch-free.
//
//   u = sqrt(2/pi) (x + 0.044715 x^3),  gelu = x (1 + tanh u) / 2 = x / (1 + exp(-2u))     Hendrycks and Gimpel (2016)
//
// One exponential and one division per element where a library takes a hyperbolic tangent, forward and again backward:
// measured 4 to 7 % of a training step. Each result depends on its element alone, by explicit fma: the same bits for
// any split and any vector instructions. bf16 values are given as their bits; what is computed with them is float32,
// rounded once at the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace shoal {

// y[i] = gelu(x[i]); within 2e-7 of the exact value, relative to max(|x|, 1).
void gelu_forward(std::span<const float> x, std::span<float> y);

// dx[i] = dy[i] * gelu'(x[i]).
void gelu_backward(std::span<const float> x, std::span<const float> dy, std::span<float> dx);

// The same over bf16.
void gelu_forward(std::span<const std::uint16_t> x, std::span<std::uint16_t> y);
void gelu_backward(std::span<const std::uint16_t> x, std::span<const std::uint16_t> dy, std::span<std::uint16_t> dx);

// y = silu(gate) up with silu(g) = g / (1 + exp(-g)), over bf16.
struct GatedValues {
  std::span<const std::uint16_t> gate, up;
};
struct GatedGradients {
  std::span<std::uint16_t> dgate, dup;
};
void swiglu_forward(const GatedValues& x, std::span<std::uint16_t> y);
void swiglu_backward(const GatedValues& x, std::span<const std::uint16_t> dy, const GatedGradients& dx);

// Sums of the columns [first, end) of a matrix in bf16, rows in order, in blocks. sums: [columns], of which these are
// written.
struct Bf16Matrix {
  const std::uint16_t* values = nullptr;
  std::size_t rows = 0;
  std::size_t columns = 0;
};
void sum_columns(const Bf16Matrix& matrix, std::size_t first, std::size_t end, float* sums);

}  // namespace shoal
