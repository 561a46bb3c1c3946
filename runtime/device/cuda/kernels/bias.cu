// A thread keeps to a pack of columns and goes down the rows of its part, some loads ahead.
#include "runtime/device/cuda/kernels/bias.h"

#include "runtime/device/cuda/kernels/columns.cuh"

namespace shoal::gpu {
namespace {

constexpr unsigned kRowsAtOnce = 4;

template <class T>
__global__ void __launch_bounds__(kThreads) bias_kernel(BiasShape shape, BiasArrays<T> at) {
  constexpr unsigned kCount = Pack<T>::kCount;
  const ColumnPart part = column_part<kCount>(shape.rows);
  float sums[kCount] = {};
  const bool is_inside = part.column < shape.width;
  for (std::size_t row = part.row; is_inside && row < part.row_end; row += std::size_t{kTall} * kRowsAtOnce) {
    Pack<T> loaded[kRowsAtOnce] = {};
#pragma unroll
    for (unsigned k = 0; k < kRowsAtOnce; ++k) {
      const std::size_t one = row + std::size_t{k} * kTall;
      if (one < part.row_end) loaded[k] = load_pack(at.dy_NO + one * shape.width + part.column);
    }
#pragma unroll
    for (unsigned k = 0; k < kRowsAtOnce; ++k) {
      for (unsigned i = 0; i < kCount; ++i) sums[i] += to_float(loaded[k].at[i]);
    }
  }
  write_part(sums, shape.width, at.parts);
}

template <class T>
LaunchError launch_both(const BiasShape& shape, const BiasArrays<T>& arrays, Stream stream) {
  if (shape.width % 8 != 0 || !is_aligned(arrays.dy_NO)) return kRefusedShape;
  if (shape.width == 0) return kLaunched;
  if (shape.rows > 0) {
    const Grid grid = column_grid<Pack<T>::kCount>(shape.rows, shape.width);
    const LaunchError failed = launch(grid, stream, bias_kernel<T>, shape, arrays);
    if (failed != kLaunched) return failed;
  }
  return add_parts(arrays.parts, column_parts(shape.rows), shape.width, arrays.dbias_O, stream);
}

}  // namespace

std::size_t bias_parts(const BiasShape& shape) { return column_parts(shape.rows) * shape.width; }

LaunchError bias_gradient(const BiasShape& shape, const BiasArrays<float>& arrays, Stream stream) {
  return launch_both(shape, arrays, stream);
}
LaunchError bias_gradient(const BiasShape& shape, const BiasArrays<Bf16>& arrays, Stream stream) {
  return launch_both(shape, arrays, stream);
}

}  // namespace shoal::gpu
