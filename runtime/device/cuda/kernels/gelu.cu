// Forward: a thread per pack of 16 bytes. Backward: columns.cuh's blocks, so that the bias's gradient costs no pass.
#include "runtime/device/cuda/kernels/gelu.h"

#include "model/arithmetic/gelu_elements.h"
#include "runtime/device/cuda/kernels/columns.cuh"

namespace shoal::gpu {
namespace {

template <class T>
__global__ void forward_kernel(GeluShape shape, GeluForward<T> at) {
  constexpr unsigned kCount = Pack<T>::kCount;
  const std::size_t packs = shape.rows * shape.width / kCount;
  for (std::size_t p = first_element(); p < packs; p += all_threads()) {
    const std::size_t column = p * kCount % shape.width;
    Pack<T> pack = load_pack(at.x_NF + p * kCount);
    for (unsigned i = 0; i < kCount; ++i) {
      const float bias = at.bias_F == nullptr ? 0.0F : at.bias_F[column + i];
      pack.at[i] = from_float<T>(gelu_of(to_float(pack.at[i]) + bias));
    }
    store_pack(at.y_NF + p * kCount, pack);
  }
}

template <class T>
__global__ void backward_kernel(GeluShape shape, GeluBackward<T> at) {
  constexpr unsigned kCount = Pack<T>::kCount;
  const ColumnPart part = column_part<kCount>(shape.rows);
  float sums[kCount] = {};
  if (part.column < shape.width) {
    float bias[kCount] = {};
    for (unsigned i = 0; i < kCount && at.bias_F != nullptr; ++i) bias[i] = at.bias_F[part.column + i];
    for (std::size_t row = part.row; row < part.row_end; row += kTall) {
      const std::size_t begin = row * shape.width + part.column;
      const Pack<T> x = load_pack(at.x_NF + begin);
      Pack<T> d = load_pack(at.dy_NF + begin);
      for (unsigned i = 0; i < kCount; ++i) {
        const float dx = to_float(d.at[i]) * gelu_slope_of(to_float(x.at[i]) + bias[i]);
        sums[i] += dx;
        d.at[i] = from_float<T>(dx);
      }
      store_pack(at.dx_NF + begin, d);
    }
  }
  write_part(sums, shape.width, at.parts);
}

__global__ void add_parts_kernel(const float* parts, std::size_t part_count, std::size_t width, float* sums) {
  add_parts(parts, part_count, width, sums);
}

template <class T>
LaunchError forward(const GeluShape& shape, const GeluForward<T>& arrays, Stream stream) {
  if (shape.rows * shape.width == 0) return kLaunched;
  const bool is_taken = shape.width % 8 == 0 && is_aligned(arrays.x_NF) && is_aligned(arrays.y_NF);
  if (!is_taken) return kRefusedShape;
  return launch(grid_over(shape.rows * shape.width / Pack<T>::kCount), stream, forward_kernel<T>, shape, arrays);
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
  return launch(grid_over(shape.width), stream, add_parts_kernel, static_cast<const float*>(arrays.parts),
                column_parts(shape.rows), shape.width, arrays.dbias_F);
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
