// A block per chunk, 16 elements a thread, all loaded before the first is used. Norms: 16 threads per chunk, a lane
// each; then a warp per group of chunks and one per tensor add in order.
#include "runtime/device/cuda/kernels/tensor_chunks.h"

#include <cmath>

#include "runtime/device/cuda/kernels/chunk_elements.cuh"
#include "runtime/device/cuda/kernels/norm_sums.cuh"

namespace shoal::gpu {
namespace {

constexpr unsigned kPerThread = kChunk / kThreads;
constexpr unsigned kAddingThreads = 1024;  // of a tensor's norm

__device__ __forceinline__ const float* gradient_of(const Gradients& gradients, const Chunk& chunk) {
  return gradients.of[chunk.tensor - gradients.first] + static_cast<std::size_t>(chunk.number) * kChunk;
}

// Beyond the chunk's end: 0.
struct Loaded {
  float at[kPerThread];
};
__device__ __forceinline__ Loaded load(const float* from, std::size_t count) {
  Loaded loaded;
#pragma unroll
  for (unsigned k = 0; k < kPerThread; ++k) {
    const unsigned i = k * kThreads + threadIdx.x;
    loaded.at[k] = i < count ? from[i] : 0.0F;
  }
  return loaded;
}

__global__ void __launch_bounds__(kThreads)
    find_beyond_kernel(TensorChunks chunks, Gradients gradients, float limit, unsigned* is_bad) {
  const Chunk chunk = chunks.chunks[blockIdx.x];
  const Loaded loaded = load(gradient_of(gradients, chunk), elements_of(chunks, chunk).count);
  bool has_bad = false;
#pragma unroll
  for (unsigned k = 0; k < kPerThread; ++k) has_bad |= is_beyond(loaded.at[k], limit);
  if (has_bad) atomicOr(is_bad + chunk.tensor, 1U);
}

template <class Sum>
__global__ void __launch_bounds__(kThreads)
    add_kernel(TensorChunks chunks, Gradients gradients, double scale, Sum* flat, const unsigned* is_bad) {
  const Chunk chunk = chunks.chunks[blockIdx.x];
  if (is_bad[chunk.tensor] != 0) return;
  const ChunkElements elements = elements_of(chunks, chunk);
  const Loaded loaded = load(gradient_of(gradients, chunk), elements.count);
  Sum* sums = flat + elements.begin;
#pragma unroll
  for (unsigned k = 0; k < kPerThread; ++k) {
    const unsigned i = k * kThreads + threadIdx.x;
    if (i >= elements.count) continue;
    if constexpr (sizeof(Sum) == sizeof(float)) {
      sums[i] += loaded.at[k];
    } else {
      sums[i] += fixed_point(loaded.at[k], scale);
    }
  }
}

__global__ void norm_blocks_kernel(TensorChunks chunks, const float* flat, double* block_sums) {
  const std::size_t at = static_cast<std::size_t>(blockIdx.x) * kNormBlocksAtOnce + threadIdx.x / kNormLanes;
  const bool is_there = at < chunks.count;
  const ChunkElements elements = is_there ? elements_of(chunks, chunks.chunks[at]) : ChunkElements{};
  const double sum = norm_of_block(flat + elements.begin, elements.count);
  if (is_there && threadIdx.x % kNormLanes == 0) block_sums[at] = sum;
}

// A thread block per tensor: its warps add the groups of blocks, each into the place of the group's first block; then
// one warp adds the groups.
__global__ void __launch_bounds__(kAddingThreads, 1)  // else two on sm_100, which has registers for one
    add_in_order_kernel(TensorChunks chunks, double* block_sums, double* norms) {
  const TensorSpan span = chunks.spans[blockIdx.x];
  const std::size_t blocks = (span.count + kChunk - 1) / kChunk;
  double* sums = block_sums + span.first_chunk;
  for (std::size_t begin = threadIdx.x / kWarp * kNormGroup; begin < blocks;
       begin += kAddingThreads / kWarp * kNormGroup) {
    const std::size_t left = blocks - begin;
    const double sum = added_in_order(sums + begin, left < kNormGroup ? left : kNormGroup, 1);
    if (threadIdx.x % kWarp == 0) sums[begin] = sum;
  }
  __syncthreads();
  if (threadIdx.x >= kWarp) return;
  const double sum = added_in_order(sums, (blocks + kNormGroup - 1) / kNormGroup, kNormGroup);
  if (threadIdx.x == 0) norms[blockIdx.x] = sum;
}

}  // namespace

LaunchError find_beyond(const TensorChunks& chunks, const Gradients& gradients, float limit, unsigned* is_bad,
                        Stream stream) {
  if (chunks.count == 0) return kLaunched;
  return launch(one_block_each(chunks.count), stream, find_beyond_kernel, chunks, gradients, limit, is_bad);
}

LaunchError accumulate(const TensorChunks& chunks, const Gradients& gradients, const ChunkSums& into, Stream stream) {
  if (chunks.count == 0) return kLaunched;
  const Grid grid = one_block_each(chunks.count);
  if (into.fraction_bits < 0) {
    return launch(grid, stream, add_kernel<float>, chunks, gradients, 1.0, static_cast<float*>(into.sums), into.is_bad);
  }
  const double scale = std::ldexp(1.0, into.fraction_bits);
  auto* sums = static_cast<std::int64_t*>(into.sums);
  return launch(grid, stream, add_kernel<std::int64_t>, chunks, gradients, scale, sums, into.is_bad);
}

LaunchError squared_norms(const TensorChunks& all, const float* flat, double* block_sums, double* norms,
                          Stream stream) {
  if (all.tensors == 0) return kLaunched;
  if (all.count > 0) {
    const Grid grid = one_block_each(parts_of(all.count, kNormBlocksAtOnce));
    const LaunchError failed = launch(grid, stream, norm_blocks_kernel, all, flat, block_sums);
    if (failed != kLaunched) return failed;
  }
  return launch(one_block_each(all.tensors, kAddingThreads), stream, add_in_order_kernel, all, block_sums, norms);
}

}  // namespace shoal::gpu
