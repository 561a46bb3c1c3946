// A thread per element, or per pack where a kernel only reads. Norms: 16 threads per block of 4096 elements, a lane
// each; then a warp adds the blocks.
#include "runtime/device/cuda/kernels/accumulate.h"

#include <cmath>

#include "model/arithmetic/step_elements.h"
#include "runtime/device/cuda/kernels/norm_sums.cuh"

namespace shoal::gpu {
namespace {

constexpr unsigned kPacksAtOnce = 4;  // loads that a thread has under way

// The packs, four loads at once (beyond the end: the last pack again), then what packs do not cover.
__global__ void find_beyond_kernel(const float* values, std::size_t count, std::size_t packs, float limit,
                                   unsigned* is_bad) {
  bool has_bad = false;
  for (std::size_t p = first_element(); p < packs; p += kPacksAtOnce * all_threads()) {
    Pack<float> loaded[kPacksAtOnce];
    for (unsigned i = 0; i < kPacksAtOnce; ++i) {
      const std::size_t at = p + i * all_threads();
      loaded[i] = load_pack(values + 4 * (at < packs ? at : packs - 1));
    }
    for (unsigned i = 0; i < kPacksAtOnce; ++i) {
      for (unsigned k = 0; k < 4; ++k) has_bad |= is_beyond(loaded[i].at[k], limit);
    }
  }
  for (std::size_t i = 4 * packs + first_element(); i < count; i += all_threads()) {
    has_bad |= is_beyond(values[i], limit);
  }
  if (has_bad) atomicOr(is_bad, 1U);
}

__global__ void add_exact_kernel(const float* values, std::size_t count, double scale, std::int64_t* sums,
                                 const unsigned* is_bad) {
  if (*is_bad != 0) return;
  for (std::size_t i = first_element(); i < count; i += all_threads()) sums[i] += fixed_point(values[i], scale);
}

__global__ void add_fast_kernel(const float* values, std::size_t count, float* sums, const unsigned* is_bad) {
  if (*is_bad != 0) return;
  for (std::size_t i = first_element(); i < count; i += all_threads()) sums[i] += values[i];
}

__global__ void mean_exact_kernel(const std::int64_t* sums, std::size_t count, double scale, double tokens,
                                  float* means) {
  for (std::size_t i = first_element(); i < count; i += all_threads()) means[i] = mean_of_fixed(sums[i], scale, tokens);
}

__global__ void mean_fast_kernel(const float* sums, std::size_t count, double tokens, float* means) {
  for (std::size_t i = first_element(); i < count; i += all_threads()) means[i] = mean_of_float(sums[i], tokens);
}

__global__ void norm_blocks_kernel(const float* values, std::size_t count, double* block_sums) {
  const std::size_t block = static_cast<std::size_t>(blockIdx.x) * kNormBlocksAtOnce + threadIdx.x / kNormLanes;
  const std::size_t begin = block * kNormBlock;
  const std::size_t left = begin < count ? count - begin : 0;
  const double sum = norm_of_block(values + begin, left < kNormBlock ? left : kNormBlock);
  if (begin < count && threadIdx.x % kNormLanes == 0) block_sums[block] = sum;
}

__global__ void add_in_order_kernel(const double* block_sums, std::size_t count, double* norm) {
  const double sum = added_in_order(block_sums, count);
  if (threadIdx.x == 0) *norm = sum;
}

}  // namespace

LaunchError find_beyond(const float* values, std::size_t count, float limit, unsigned* is_bad, Stream stream) {
  if (count == 0) return kLaunched;
  const std::size_t packs = is_aligned(values) ? count / 4 : 0;
  const Grid grid = grid_over(packs == 0 ? count : parts_of(packs, kPacksAtOnce));
  return launch(grid, stream, find_beyond_kernel, values, count, packs, limit, is_bad);
}

LaunchError accumulate_exact(const float* values, std::size_t count, const ExactSums& into, Stream stream) {
  if (count == 0) return kLaunched;
  const double scale = std::ldexp(1.0, into.fraction_bits);
  return launch(grid_over(count), stream, add_exact_kernel, values, count, scale, into.sums, into.is_bad);
}

LaunchError accumulate_fast(const float* values, std::size_t count, float* sums, const unsigned* is_bad,
                            Stream stream) {
  if (count == 0) return kLaunched;
  return launch(grid_over(count), stream, add_fast_kernel, values, count, sums, is_bad);
}

LaunchError mean_of_exact(const MeanOfExact& from, std::size_t count, float* means, Stream stream) {
  if (count == 0) return kLaunched;
  const double scale = std::ldexp(1.0, -from.fraction_bits);
  const auto tokens = static_cast<double>(from.tokens);
  return launch(grid_over(count), stream, mean_exact_kernel, from.sums, count, scale, tokens, means);
}

LaunchError mean_of_fast(const float* sums, std::size_t count, std::uint64_t tokens, float* means, Stream stream) {
  if (count == 0) return kLaunched;
  return launch(grid_over(count), stream, mean_fast_kernel, sums, count, static_cast<double>(tokens), means);
}

std::size_t norm_blocks(std::size_t count) { return parts_of(count, kNormBlock); }

LaunchError squared_norm(const float* values, std::size_t count, double* block_sums, double* norm, Stream stream) {
  const std::size_t blocks = norm_blocks(count);
  if (blocks > 0) {
    const Grid grid = one_block_each(parts_of(blocks, kNormBlocksAtOnce));
    const LaunchError failed = launch(grid, stream, norm_blocks_kernel, values, count, block_sums);
    if (failed != kLaunched) return failed;
  }
  return launch(one_block_each(1, kWarp), stream, add_in_order_kernel, static_cast<const double*>(block_sums), blocks,
                norm);
}

}  // namespace shoal::gpu
