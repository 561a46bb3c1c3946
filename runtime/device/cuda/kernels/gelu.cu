// A thread keeps to a pack of columns, whose bias it loads once, and goes down the rows; the next pack is loaded while
// one is computed. Backward: columns.cuh's parts of rows, so that the bias's gradient costs no pass. Where logistic.h
// has no number the pack is computed again by the formula.
#include "runtime/device/cuda/kernels/gelu.h"

#include "model/arithmetic/gelu_elements.h"
#include "runtime/device/cuda/kernels/columns.cuh"
#include "runtime/device/cuda/kernels/logistic.h"

namespace shoal::gpu {
namespace {

constexpr std::size_t kRowsPerThread = 8;  // of the forward

template <class T>
__global__ void __launch_bounds__(kThreads, 6) forward_kernel(GeluShape shape, GeluForward<T> at) {
  constexpr unsigned kCount = Pack<T>::kCount;
  const std::size_t column = (static_cast<std::size_t>(blockIdx.x) * kWarp + threadIdx.x) * kCount;
  const std::size_t step = static_cast<std::size_t>(gridDim.y) * kTall;
  std::size_t row = static_cast<std::size_t>(blockIdx.y) * kTall + threadIdx.y;
  if (column >= shape.width || row >= shape.rows) return;
  float bias[kCount] = {};
  for (unsigned i = 0; i < kCount && at.bias_F != nullptr; ++i) bias[i] = at.bias_F[column + i];
  Pack<T> next = load_pack(at.x_NF + row * shape.width + column);
  for (; row < shape.rows; row += step) {
    const Pack<T> x = next;
    if (row + step < shape.rows) next = load_pack(at.x_NF + (row + step) * shape.width + column);
    float y[kCount];
    bool has_nan = false;
    for (unsigned i = 0; i < kCount; ++i) {
      y[i] = gelu_or_nan(to_float(x.at[i]) + bias[i]);
      has_nan |= y[i] != y[i];
    }
    Pack<T> pack = pack_of_numbers<T>(y);
    const std::size_t begin = row * shape.width + column;
    for (unsigned i = 0; has_nan && i < kCount; ++i) {  // loaded again: registers are scarce
      pack.at[i] = from_float<T>(gelu_of(to_float(at.x_NF[begin + i]) + bias[i]));
    }
    store_pack(at.y_NF + begin, pack);
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads, 4) backward_kernel(GeluShape shape, GeluBackward<T> at) {
  constexpr unsigned kCount = Pack<T>::kCount;
  const ColumnPart part = column_part<kCount>(shape.rows);
  float sums[kCount] = {};
  if (part.column < shape.width && part.row < part.row_end) {
    float bias[kCount] = {};
    for (unsigned i = 0; i < kCount && at.bias_F != nullptr; ++i) bias[i] = at.bias_F[part.column + i];
    Pack<T> next_x = load_pack(at.x_NF + part.row * shape.width + part.column);
    Pack<T> next_dy = load_pack(at.dy_NF + part.row * shape.width + part.column);
    for (std::size_t row = part.row; row < part.row_end; row += kTall) {
      const std::size_t begin = row * shape.width + part.column;
      const Pack<T> x = next_x;
      const Pack<T> dy = next_dy;
      if (row + kTall < part.row_end) {
        next_x = load_pack(at.x_NF + begin + kTall * shape.width);
        next_dy = load_pack(at.dy_NF + begin + kTall * shape.width);
      }
      float dx[kCount];
      bool has_nan = false;
      for (unsigned i = 0; i < kCount; ++i) {
        dx[i] = to_float(dy.at[i]) * gelu_slope_or_nan(to_float(x.at[i]) + bias[i]);
        has_nan |= dx[i] != dx[i];
      }
      Pack<T> pack = pack_of_numbers<T>(dx);
      for (unsigned i = 0; has_nan && i < kCount; ++i) {  // loaded again: registers are scarce
        dx[i] = to_float(at.dy_NF[begin + i]) * gelu_slope_of(to_float(at.x_NF[begin + i]) + bias[i]);
        pack.at[i] = from_float<T>(dx[i]);
      }
      for (unsigned i = 0; i < kCount; ++i) sums[i] += dx[i];
      store_pack(at.dx_NF + begin, pack);
    }
  }
  write_part(sums, shape.width, at.parts);
}

template <class T>
LaunchError forward(const GeluShape& shape, const GeluForward<T>& arrays, Stream stream) {
  if (shape.rows * shape.width == 0) return kLaunched;
  const bool is_taken = shape.width % 8 == 0 && is_aligned(arrays.x_NF) && is_aligned(arrays.y_NF);
  if (!is_taken) return kRefusedShape;
  const std::size_t across = parts_of(shape.width, std::size_t{kWarp} * Pack<T>::kCount);
  const std::size_t down = std::min<std::size_t>(parts_of(shape.rows, kTall * kRowsPerThread), kBlocksMost);
  const Grid grid{dim3(static_cast<unsigned>(across), static_cast<unsigned>(down)), dim3(kWarp, kTall)};
  return launch(grid, stream, forward_kernel<T>, shape, arrays);
}

template <class T>
LaunchError backward(const GeluShape& shape, const GeluBackward<T>& arrays, Stream stream) {
  if (shape.rows * shape.width == 0) return kLaunched;
  const bool is_taken =
      shape.width % 8 == 0 && is_aligned(arrays.x_NF) && is_aligned(arrays.dy_NF) && is_aligned(arrays.dx_NF);
  if (!is_taken) return kRefusedShape;
  const Grid grid = column_grid<Pack<T>::kCount>(shape.rows, shape.width);
  const LaunchError failed = launch(grid, stream, backward_kernel<T>, shape, arrays);
  if (failed != kLaunched) return failed;
  return add_parts(arrays.parts, column_parts(shape.rows), shape.width, arrays.dbias_F, stream);
}

}  // namespace

std::size_t gelu_parts(const GeluShape& shape) { return column_parts(shape.rows) * shape.width; }

LaunchError gelu_forward(const GeluShape& shape, const GeluForward<float>& arrays, Stream stream) {
  return forward(shape, arrays, stream);
}
LaunchError gelu_forward(const GeluShape& shape, const GeluForward<Bf16>& arrays, Stream stream) {
  return forward(shape, arrays, stream);
}
LaunchError gelu_backward(const GeluShape& shape, const GeluBackward<float>& arrays, Stream stream) {
  return backward(shape, arrays, stream);
}
LaunchError gelu_backward(const GeluShape& shape, const GeluBackward<Bf16>& arrays, Stream stream) {
  return backward(shape, arrays, stream);
}

}  // namespace shoal::gpu
