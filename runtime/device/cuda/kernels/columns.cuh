// Sums over the rows of a matrix, column by column, in a fixed order: the gradients of biases and of norms.
//
// The rows are cut into parts of kRowsPerPart. A block of 32 x 8 threads sums one part of 32 packs of columns: thread
// (x, y) takes rows y, y + 8, .. of pack x, then the eight rows of threads are added in order through shared memory.
// Each part gives a row of [parts, C]. A second kernel adds the parts: thread y of kPartsTall takes parts y,
// y + kPartsTall, .. of a column, then these are added in order. The order depends on the shape alone.
#pragma once

#include "runtime/device/cuda/kernels/launching.cuh"

namespace shoal::gpu {

inline constexpr unsigned kTall = 8;
inline constexpr std::size_t kRowsPerPart = 256;
inline constexpr unsigned kPartsTall = 32;
inline constexpr unsigned kPartsThreads = kPartsTall * kWarp;
inline constexpr unsigned kPartsAtOnce = 16;  // loads that a thread has under way

// A thread block's part of the matrix: rows [row, row_end) in steps of kTall, and the pack's first column.
struct ColumnPart {
  std::size_t row, row_end, column;
};

template <unsigned kPerThread>
__device__ __forceinline__ ColumnPart column_part(std::size_t rows) {
  const std::size_t begin = static_cast<std::size_t>(blockIdx.y) * kRowsPerPart;
  const std::size_t end = begin + kRowsPerPart < rows ? begin + kRowsPerPart : rows;
  return {begin + threadIdx.y, end, (static_cast<std::size_t>(blockIdx.x) * kWarp + threadIdx.x) * kPerThread};
}

// All threads of the block call it. Writes the part's sums of this block's columns.
template <unsigned kPerThread>
__device__ __forceinline__ void write_part(const float (&sums)[kPerThread], std::size_t width, float* parts) {
  __shared__ float rows[kTall][kWarp * kPerThread];
  for (unsigned i = 0; i < kPerThread; ++i) rows[threadIdx.y][threadIdx.x * kPerThread + i] = sums[i];
  __syncthreads();
  const std::size_t first = static_cast<std::size_t>(blockIdx.x) * kWarp * kPerThread;
  for (unsigned c = threadIdx.y * kWarp + threadIdx.x; c < kWarp * kPerThread; c += kWarp * kTall) {
    float sum = 0;
    for (unsigned y = 0; y < kTall; ++y) sum += rows[y][c];
    if (first + c < width) parts[blockIdx.y * width + first + c] = sum;
  }
}

inline std::size_t column_parts(std::size_t rows) { return parts_of(rows, kRowsPerPart); }

template <unsigned kPerThread>
Grid column_grid(std::size_t rows, std::size_t width) {
  const std::size_t across = parts_of(width, std::size_t{kWarp} * kPerThread);
  return {dim3(static_cast<unsigned>(across), static_cast<unsigned>(column_parts(rows))), dim3(kWarp, kTall)};
}

static __global__ void __launch_bounds__(kPartsThreads)
    add_parts_kernel(const float* parts, std::size_t part_count, std::size_t width, float* sums) {
  __shared__ float tall[kPartsTall][kWarp];
  const std::size_t c = static_cast<std::size_t>(blockIdx.x) * kWarp + threadIdx.x;
  const bool is_inside = c < width;
  float sum = 0;
  for (std::size_t part = threadIdx.y; is_inside && part < part_count; part += kPartsTall * kPartsAtOnce) {
    float loaded[kPartsAtOnce];
#pragma unroll
    for (unsigned k = 0; k < kPartsAtOnce; ++k) {
      const std::size_t number = part + k * kPartsTall;
      loaded[k] = number < part_count ? parts[number * width + c] : 0.0F;
    }
#pragma unroll
    for (unsigned k = 0; k < kPartsAtOnce; ++k) sum = part + k * kPartsTall < part_count ? sum + loaded[k] : sum;
  }
  tall[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || !is_inside) return;
  const std::size_t there = part_count < kPartsTall ? part_count : kPartsTall;
  sum = 0;
  for (std::size_t y = 0; y < there; ++y) sum += tall[y][threadIdx.x];
  sums[c] = sum;
}

// Adds what a kernel has written by write_part(): parts [part_count, width], sums [width].
inline LaunchError add_parts(const float* parts, std::size_t part_count, std::size_t width, float* sums,
                             Stream stream) {
  const Grid grid{dim3(static_cast<unsigned>(parts_of(width, std::size_t{kWarp}))), dim3(kWarp, kPartsTall)};
  return launch(grid, stream, add_parts_kernel, parts, part_count, width, sums);
}

}  // namespace shoal::gpu
