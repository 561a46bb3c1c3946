// A row's values stay in the registers of a warp, up to 2048 of them, or of a whole block: one pass over memory. Warps
// of a block add up through shared memory, in order. Parameters' gradients are sums over columns: of rows of up to 1024
// values they stay in the registers of the warps that go down the rows; for wider ones a kernel of their own reads the
// rows once more (columns.cuh).
#include "runtime/device/cuda/kernels/residual_norm.h"

#include <cmath>

#include "runtime/device/cuda/kernels/columns.cuh"
#include "runtime/device/cuda/kernels/quad.cuh"

namespace shoal::gpu {
namespace {

constexpr unsigned kWarps = kThreads / kWarp;
constexpr unsigned kQuadsWithSums = 8;  // of a lane, at most, that registers hold beside their sums
constexpr unsigned kWarpsWithSums = 4;  // of a block
constexpr unsigned kThreadsWithSums = kWarpsWithSums * kWarp;
constexpr std::size_t kRowsOfSums = 64;  // of a block: each makes a part

// Threads of a row: one warp or all warps of a block.
template <unsigned kOfRow>
__device__ __forceinline__ unsigned lane_of_row() {
  return threadIdx.x % (kWarp * kOfRow);
}
// Column of a thread's quad number i.
template <unsigned kOfRow>
__device__ __forceinline__ std::size_t column_of(unsigned i) {
  return (static_cast<std::size_t>(i) * kWarp * kOfRow + lane_of_row<kOfRow>()) * kQuad;
}
template <unsigned kOfRow>
__device__ __forceinline__ std::size_t row_of_thread() {
  return static_cast<std::size_t>(blockIdx.x) * (kWarps / kOfRow) + threadIdx.x / (kWarp * kOfRow);
}

// The sum over a row's threads, the same bits in each of them. kUse: each use of a kernel has shared memory of its own.
template <unsigned kOfRow, unsigned kUse>
__device__ __forceinline__ float sum_over_row(float value) {
  value = sum_over_warp(value);
  if constexpr (kOfRow > 1) {
    __shared__ float of_warps[kOfRow];
    if (threadIdx.x % kWarp == 0) of_warps[threadIdx.x / kWarp] = value;
    __syncthreads();
    value = 0;
    for (unsigned i = 0; i < kOfRow; ++i) value += of_warps[i];
  }
  return value;
}

template <class T, unsigned kQuads, unsigned kOfRow>
__global__ void __launch_bounds__(kThreads) forward_kernel(NormShape shape, NormForward<T> at) {
  const std::size_t row = row_of_thread<kOfRow>();
  if (row >= shape.rows) return;
  const std::size_t begin = row * shape.width;
  const auto width = static_cast<float>(shape.width);
  Quad values[kQuads];
  float total = 0;
#pragma unroll
  for (unsigned i = 0; i < kQuads; ++i) {
    const std::size_t c = column_of<kOfRow>(i);
    values[i] = {};
    if (c >= shape.width) continue;
    values[i] = load_quad(at.x_NC + begin + c);
    if (at.branch_NC != nullptr) {
      const Quad branch = load_quad(at.branch_NC + begin + c);
      for (unsigned j = 0; j < kQuad; ++j) values[i].at[j] += branch.at[j];
      store_quad(at.sum_NC + begin + c, values[i]);
    }
    for (unsigned j = 0; j < kQuad; ++j) total += values[i].at[j];
  }
  const bool is_layer = shape.rule == NormRule::kLayer;
  const float mean = is_layer ? sum_over_row<kOfRow, 0>(total) / width : 0.0F;
  float squares = 0;
#pragma unroll
  for (unsigned i = 0; i < kQuads; ++i) {
    if (column_of<kOfRow>(i) >= shape.width) continue;
    for (unsigned j = 0; j < kQuad; ++j) {
      const float apart = values[i].at[j] - mean;
      squares = std::fma(apart, apart, squares);
    }
  }
  const float rstd = 1.0F / std::sqrt(sum_over_row<kOfRow, 1>(squares) / width + shape.eps);
#pragma unroll
  for (unsigned i = 0; i < kQuads; ++i) {
    const std::size_t c = column_of<kOfRow>(i);
    if (c >= shape.width) continue;
    const Quad weight = load_quad(at.weight_C + c);
    Quad bias{};
    if (at.bias_C != nullptr) bias = load_quad(at.bias_C + c);
    for (unsigned j = 0; j < kQuad; ++j) {
      values[i].at[j] = std::fma((values[i].at[j] - mean) * rstd, weight.at[j], bias.at[j]);
    }
    store_quad(at.y_NC + begin + c, values[i]);
  }
  if (lane_of_row<kOfRow>() != 0) return;
  if (is_layer) at.mean_N[row] = mean;
  at.rstd_N[row] = rstd;
}

// Holds what a thread has of a row: dy's and the normal values of its quads.
template <unsigned kQuads>
struct RowOfThread {
  Quad normal[kQuads], dy[kQuads];
  float rstd;
};

template <class T, unsigned kQuads, unsigned kOfRow>
__device__ __forceinline__ RowOfThread<kQuads> load_row(const NormShape& shape, const NormBackward<T>& at,
                                                        std::size_t row) {
  RowOfThread<kQuads> of;
  const float mean = shape.rule == NormRule::kLayer ? at.mean_N[row] : 0.0F;
  of.rstd = at.rstd_N[row];
#pragma unroll
  for (unsigned i = 0; i < kQuads; ++i) {
    const std::size_t c = column_of<kOfRow>(i);
    of.normal[i] = {}, of.dy[i] = {};
    if (c >= shape.width) continue;
    const Quad x = load_quad(at.sum_NC + row * shape.width + c);
    of.dy[i] = load_quad(at.dy_NC + row * shape.width + c);
    for (unsigned j = 0; j < kQuad; ++j) of.normal[i].at[j] = (x.at[j] - mean) * of.rstd;
  }
  return of;
}

// dx = around + rstd (g - mean(g) - n mean(g n)), with g = dy weight and n the normal values; RMSNorm has no mean(g).
template <class T, unsigned kQuads, unsigned kOfRow>
__device__ __forceinline__ void store_dx(const NormShape& shape, const NormBackward<T>& at, std::size_t row,
                                         const RowOfThread<kQuads>& of) {
  const std::size_t begin = row * shape.width;
  const auto width = static_cast<float>(shape.width);
  Quad around[kQuads];
  float sum_g = 0, sum_gn = 0;
#pragma unroll
  for (unsigned i = 0; i < kQuads; ++i) {
    const std::size_t c = column_of<kOfRow>(i);
    around[i] = {};
    if (c >= shape.width) continue;
    if (at.around_NC != nullptr) around[i] = load_quad(at.around_NC + begin + c);
    const Quad weight = load_quad(at.weight_C + c);
    for (unsigned j = 0; j < kQuad; ++j) {
      const float g = of.dy[i].at[j] * weight.at[j];
      sum_g += g;
      sum_gn = std::fma(g, of.normal[i].at[j], sum_gn);
    }
  }
  const bool is_layer = shape.rule == NormRule::kLayer;
  const float mean_g = is_layer ? sum_over_row<kOfRow, 2>(sum_g) / width : 0.0F;
  const float mean_gn = sum_over_row<kOfRow, 3>(sum_gn) / width;
#pragma unroll
  for (unsigned i = 0; i < kQuads; ++i) {
    const std::size_t c = column_of<kOfRow>(i);
    if (c >= shape.width) continue;
    const Quad weight = load_quad(at.weight_C + c);  // again: registers are scarce
    Quad dx{};
    for (unsigned j = 0; j < kQuad; ++j) {
      const float g = of.dy[i].at[j] * weight.at[j];
      const float within = std::fma(-of.normal[i].at[j], mean_gn, g - mean_g);
      dx.at[j] = std::fma(of.rstd, within, around[i].at[j]);
    }
    store_quad(at.dx_NC + begin + c, dx);
    if (at.copy_NC != nullptr) store_quad(at.copy_NC + begin + c, dx);
  }
}

template <class T, unsigned kQuads, unsigned kOfRow>
__global__ void __launch_bounds__(kThreads) backward_kernel(NormShape shape, NormBackward<T> at) {
  const std::size_t row = row_of_thread<kOfRow>();
  if (row >= shape.rows) return;
  store_dx<T, kQuads, kOfRow>(shape, at, row, load_row<T, kQuads, kOfRow>(shape, at, row));
}

// Adds the warps' sums in order and writes the block's part. All threads of the block call it.
template <unsigned kQuads>
__device__ __forceinline__ void write_part_of_warps(const Quad (&sums)[kQuads], std::size_t width, float* parts) {
  alignas(16) __shared__ float of_warps[kWarpsWithSums][kQuads * kWarp * kQuad];
  float* mine = of_warps[threadIdx.x / kWarp];
  for (unsigned i = 0; i < kQuads; ++i) store_quad(mine + column_of<1>(i), sums[i]);
  __syncthreads();
  for (std::size_t c = threadIdx.x; c < width; c += kThreadsWithSums) {
    float sum = 0;
    for (unsigned warp = 0; warp < kWarpsWithSums; ++warp) sum += of_warps[warp][c];
    parts[blockIdx.x * width + c] = sum;
  }
}

// The same, and sums of dy n, then of dy, over the rows: [2, parts, C]. Each warp takes every kWarpsWithSums-th row.
template <class T, unsigned kQuads>
__global__ void __launch_bounds__(kWarpsWithSums* kWarp)
    backward_with_sums_kernel(NormShape shape, NormBackward<T> at) {
  const std::size_t begin = static_cast<std::size_t>(blockIdx.x) * kRowsOfSums;
  const std::size_t end = begin + kRowsOfSums < shape.rows ? begin + kRowsOfSums : shape.rows;
  Quad weights[kQuads] = {}, biases[kQuads] = {};
  for (std::size_t row = begin + threadIdx.x / kWarp; row < end; row += kWarpsWithSums) {
    const RowOfThread<kQuads> of = load_row<T, kQuads, 1>(shape, at, row);
    store_dx<T, kQuads, 1>(shape, at, row, of);
#pragma unroll
    for (unsigned i = 0; i < kQuads; ++i) {
      for (unsigned j = 0; j < kQuad; ++j) {
        weights[i].at[j] = std::fma(of.dy[i].at[j], of.normal[i].at[j], weights[i].at[j]);
        biases[i].at[j] += of.dy[i].at[j];
      }
    }
  }
  write_part_of_warps(weights, shape.width, at.parts);
  if (at.dbias_C == nullptr) return;
  __syncthreads();  // the second use of its shared memory
  write_part_of_warps(biases, shape.width, at.parts + gridDim.x * shape.width);
}

// Sums of dy n, then of dy, over the rows: [2, parts, C].
template <class T>
__global__ void parameters_kernel(NormShape shape, NormBackward<T> at) {
  const ColumnPart part = column_part<kQuad>(shape.rows);
  const bool is_layer = shape.rule == NormRule::kLayer;
  float weights[kQuad] = {}, biases[kQuad] = {};
  if (part.column < shape.width) {
    for (std::size_t row = part.row; row < part.row_end; row += kTall) {
      const float mean = is_layer ? at.mean_N[row] : 0.0F;
      const float rstd = at.rstd_N[row];
      const Quad x = load_quad(at.sum_NC + row * shape.width + part.column);
      const Quad dy = load_quad(at.dy_NC + row * shape.width + part.column);
      for (unsigned j = 0; j < kQuad; ++j) {
        weights[j] = std::fma(dy.at[j], (x.at[j] - mean) * rstd, weights[j]);
        biases[j] += dy.at[j];
      }
    }
  }
  write_part(weights, shape.width, at.parts);
  if (at.dbias_C == nullptr) return;
  __syncthreads();  // the second use of write_part()'s shared memory
  write_part(biases, shape.width, at.parts + gridDim.y * shape.width);
}

template <class... Pointers>
bool are_aligned(Pointers... pointers) {
  return (is_aligned(pointers) && ...);
}

bool has_sums(const NormShape& shape) { return parts_of(shape.width, std::size_t{kWarp} * kQuad) <= kQuadsWithSums; }
std::size_t parts_of_sums(const NormShape& shape) {
  return has_sums(shape) ? parts_of(shape.rows, kRowsOfSums) : column_parts(shape.rows);
}

// Calls with the least number of quads per thread that holds a row, and the warps of a row, as constants.
template <class Call>
LaunchError with_quads(std::size_t width, const Call& call) {
  const std::size_t quads = parts_of(width, std::size_t{kWarp} * kQuad);
  if (quads <= 2) return call.template operator()<2, 1>();
  if (quads <= 4) return call.template operator()<4, 1>();
  if (quads <= 6) return call.template operator()<6, 1>();
  if (quads <= 8) return call.template operator()<8, 1>();
  if (quads <= 16) return call.template operator()<16, 1>();
  if (quads <= 4 * kWarps) return call.template operator()<4, kWarps>();
  if (quads <= 8 * kWarps) return call.template operator()<8, kWarps>();
  return call.template operator()<16, kWarps>();
}

template <class T>
LaunchError forward(const NormShape& shape, const NormForward<T>& arrays, Stream stream) {
  if (shape.rows * shape.width == 0) return kLaunched;
  const bool is_placed =
      are_aligned(arrays.x_NC, arrays.branch_NC, arrays.weight_C, arrays.bias_C, arrays.sum_NC, arrays.y_NC);
  if (!takes_norm_of(shape.width) || !is_placed) return kRefusedShape;
  return with_quads(shape.width, [&]<unsigned kQuads, unsigned kOfRow>() {
    const Grid grid = one_block_each(parts_of(shape.rows, kWarps / kOfRow));
    return launch(grid, stream, forward_kernel<T, kQuads, kOfRow>, shape, arrays);
  });
}

// Both in one pass over the rows.
template <class T>
LaunchError launch_with_sums(const NormShape& shape, const NormBackward<T>& arrays, Stream stream) {
  const Grid grid = one_block_each(parts_of_sums(shape), kThreadsWithSums);
  return with_quads(shape.width, [&]<unsigned kQuads, unsigned kOfRow>() -> LaunchError {
    if constexpr (kOfRow == 1 && kQuads <= kQuadsWithSums) {
      return launch(grid, stream, backward_with_sums_kernel<T, kQuads>, shape, arrays);
    }
    return kRefusedShape;
  });
}

// The sums first: dx may lie over what they are made of.
template <class T>
LaunchError launch_apart(const NormShape& shape, const NormBackward<T>& arrays, Stream stream) {
  const Grid columns = column_grid<kQuad>(shape.rows, shape.width);
  if (const LaunchError failed = launch(columns, stream, parameters_kernel<T>, shape, arrays); failed != kLaunched) {
    return failed;
  }
  return with_quads(shape.width, [&]<unsigned kQuads, unsigned kOfRow>() {
    const Grid grid = one_block_each(parts_of(shape.rows, kWarps / kOfRow));
    return launch(grid, stream, backward_kernel<T, kQuads, kOfRow>, shape, arrays);
  });
}

template <class T>
LaunchError backward(const NormShape& shape, const NormBackward<T>& arrays, Stream stream) {
  if (shape.rows * shape.width == 0) return kLaunched;
  const bool is_placed =
      are_aligned(arrays.sum_NC, arrays.weight_C, arrays.dy_NC, arrays.around_NC, arrays.dx_NC, arrays.copy_NC);
  if (!takes_norm_of(shape.width) || !is_placed) return kRefusedShape;
  LaunchError failed = has_sums(shape) ? launch_with_sums(shape, arrays, stream) : launch_apart(shape, arrays, stream);
  const std::size_t parts = parts_of_sums(shape);
  const float* of_bias = arrays.parts + parts * shape.width;
  if (failed == kLaunched) {
    failed = add_parts(arrays.parts, parts, shape.width, arrays.dweight_C, stream);
  }
  if (failed == kLaunched && arrays.dbias_C != nullptr) {
    failed = add_parts(of_bias, parts, shape.width, arrays.dbias_C, stream);
  }
  return failed;
}

}  // namespace

std::size_t norm_parts(const NormShape& shape) { return 2 * parts_of_sums(shape) * shape.width; }

LaunchError residual_norm(const NormShape& shape, const NormForward<float>& arrays, Stream stream) {
  return forward(shape, arrays, stream);
}
LaunchError residual_norm(const NormShape& shape, const NormForward<Bf16>& arrays, Stream stream) {
  return forward(shape, arrays, stream);
}
LaunchError residual_norm_backward(const NormShape& shape, const NormBackward<float>& arrays, Stream stream) {
  return backward(shape, arrays, stream);
}
LaunchError residual_norm_backward(const NormShape& shape, const NormBackward<Bf16>& arrays, Stream stream) {
  return backward(shape, arrays, stream);
}

}  // namespace shoal::gpu
