// The loops of activations; see vector_clones.h for why their bits are the same everywhere.
#include "model/activation_kernels.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "model/arithmetic/gelu_elements.h"
#include "model/arithmetic/swiglu_elements.h"
#include "runtime/base/arithmetic/bf16.h"
#include "runtime/base/arithmetic/vector_clones.h"
#include "runtime/base/ensure.h"

namespace shoal {
namespace {

SHOAL_VECTOR_CLONES void forward(const float* __restrict x, float* __restrict y, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) y[i] = gelu_of(x[i]);
}

SHOAL_VECTOR_CLONES void backward(const float* __restrict x, const float* __restrict dy, float* __restrict dx,
                                  std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) dx[i] = dy[i] * gelu_slope_of(x[i]);
}

SHOAL_VECTOR_CLONES void forward(const std::uint16_t* __restrict x, std::uint16_t* __restrict y, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    y[i] = to_bf16_or_nan(gelu_of(float_of_bf16(x[i])));
  }
}

SHOAL_VECTOR_CLONES void backward(const std::uint16_t* __restrict x, const std::uint16_t* __restrict dy,
                                  std::uint16_t* __restrict dx, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    dx[i] = to_bf16_or_nan(float_of_bf16(dy[i]) * gelu_slope_of(float_of_bf16(x[i])));
  }
}

SHOAL_VECTOR_CLONES void gated(const std::uint16_t* __restrict gate, const std::uint16_t* __restrict up,
                               std::uint16_t* __restrict y, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    y[i] = to_bf16_or_nan(silu_of(float_of_bf16(gate[i])) * float_of_bf16(up[i]));
  }
}

SHOAL_VECTOR_CLONES void gate_gradient(const std::uint16_t* __restrict gate, const std::uint16_t* __restrict up,
                                       const std::uint16_t* __restrict dy, std::uint16_t* __restrict dgate,
                                       std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const float slope = silu_slope_of(float_of_bf16(gate[i]));
    dgate[i] = to_bf16_or_nan(float_of_bf16(dy[i]) * float_of_bf16(up[i]) * slope);
  }
}

// Adds the rows to sums[0, columns).
SHOAL_VECTOR_CLONES void add_rows(const std::uint16_t* __restrict first, std::size_t stride, std::size_t rows,
                                  std::size_t columns, float* __restrict sums) {
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t i = 0; i < columns; ++i) sums[i] += float_of_bf16(first[row * stride + i]);
  }
}

}  // namespace

void gelu_forward(std::span<const float> x, std::span<float> y) {
  ENSURE(x.size() == y.size(), "one result per value");
  forward(x.data(), y.data(), x.size());
}

void gelu_backward(std::span<const float> x, std::span<const float> dy, std::span<float> dx) {
  ENSURE(x.size() == dy.size() && x.size() == dx.size(), "one gradient per value");
  backward(x.data(), dy.data(), dx.data(), x.size());
}

void gelu_forward(std::span<const std::uint16_t> x, std::span<std::uint16_t> y) {
  ENSURE(x.size() == y.size(), "one result per value");
  forward(x.data(), y.data(), x.size());
}

void gelu_backward(std::span<const std::uint16_t> x, std::span<const std::uint16_t> dy, std::span<std::uint16_t> dx) {
  ENSURE(x.size() == dy.size() && x.size() == dx.size(), "one gradient per value");
  backward(x.data(), dy.data(), dx.data(), x.size());
}

void swiglu_forward(const GatedValues& x, std::span<std::uint16_t> y) {
  ENSURE(x.gate.size() == y.size() && x.up.size() == y.size(), "one result per value");
  gated(x.gate.data(), x.up.data(), y.data(), y.size());
}

void swiglu_backward(const GatedValues& x, std::span<const std::uint16_t> dy, const GatedGradients& dx) {
  const std::size_t count = dy.size();
  ENSURE(x.gate.size() == count && x.up.size() == count, "one gradient per value");
  ENSURE(dx.dgate.size() == count && dx.dup.size() == count, "one gradient per value");
  gate_gradient(x.gate.data(), x.up.data(), dy.data(), dx.dgate.data(), count);
  gated(x.gate.data(), dy.data(), dx.dup.data(), count);  // silu(gate) dy
}

void sum_columns(const Bf16Matrix& matrix, std::size_t first, std::size_t end, float* sums) {
  ENSURE(first <= end && end <= matrix.columns, "columns of the matrix");
  constexpr std::size_t kRows = 64;      // added up before they are added to the sum: fewer roundings of large numbers
  constexpr std::size_t kColumns = 256;  // at once
  for (std::size_t column = first; column < end; column += kColumns) {
    const std::size_t width = std::min(kColumns, end - column);
    std::fill_n(sums + column, width, 0.0F);
    for (std::size_t row = 0; row < matrix.rows; row += kRows) {
      float part[kColumns] = {};
      const std::size_t height = std::min(kRows, matrix.rows - row);
      add_rows(matrix.values + row * matrix.columns + column, matrix.columns, height, width, part);
      for (std::size_t i = 0; i < width; ++i) sums[column + i] += part[i];
    }
  }
}

}  // namespace shoal
