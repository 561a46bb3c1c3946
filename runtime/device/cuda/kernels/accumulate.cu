// A thread per element, or per pack where a kernel only reads. Norms: 16 threads per block of 4096 elements, a lane
// each; then a warp adds the blocks.
#include "runtime/device/cuda/kernels/accumulate.h"

#include <cmath>

#include "model/arithmetic/step_elements.h"
#include "runtime/device/cuda/kernels/launching.cuh"

namespace shoal::gpu {
namespace {

constexpr unsigned kNormBlocksAtOnce = kThreads / kNormLanes;
constexpr unsigned kPacksAtOnce = 4;    // loads that a thread has under way
constexpr unsigned kSquaresAtOnce = 8;  // the same for norms
constexpr unsigned kSumsPerLane = 8;    // of blocks, which a warp adds at once

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
  const std::size_t end = begin + kNormBlock < count ? begin + kNormBlock : count;
  double lane = 0;
  for (std::size_t i = begin + threadIdx.x % kNormLanes; i < end; i += kNormLanes * kSquaresAtOnce) {
    float loaded[kSquaresAtOnce];
    for (unsigned k = 0; k < kSquaresAtOnce; ++k) {
      loaded[k] = i + k * kNormLanes < end ? values[i + k * kNormLanes] : 0.0F;
    }
    for (unsigned k = 0; k < kSquaresAtOnce; ++k) lane += square_of(loaded[k]);
  }
  double sum = 0;
  for (int i = 0; i < static_cast<int>(kNormLanes); ++i) {
    sum += __shfl_sync(kAllLanes, lane, i, static_cast<int>(kNormLanes));
  }
  if (begin < count && threadIdx.x % kNormLanes == 0) block_sums[block] = sum;
}

// The next sums of blocks, lane by lane; 0 beyond the end, which adds nothing.
struct SumsOfLane {
  double at[kSumsPerLane];
};

__device__ __forceinline__ SumsOfLane load_sums(const double* block_sums, std::size_t begin, std::size_t count) {
  SumsOfLane sums;
  for (unsigned k = 0; k < kSumsPerLane; ++k) {
    const std::size_t at = begin + k * kWarp + threadIdx.x;
    sums.at[k] = at < count ? block_sums[at] : 0.0;
  }
  return sums;
}

__device__ __forceinline__ std::uint64_t exponent_of(double value) {
  return __builtin_bit_cast(std::uint64_t, value) >> 52U;
}

// What adding the values one by one to `sum` gives, if that stays below the next power of two and meets no tie;
// otherwise anything of another exponent. A sum's exponent is its last place: an addition only rounds the value to that
// place, whatever was added before, and multiples of it are added without rounding in any order. All values are >= 0.
__device__ __forceinline__ double added_at_once(double sum, const SumsOfLane& values) {
  const std::uint64_t exponent = exponent_of(sum);
  if (exponent <= 53) return INFINITY;
  const double half_place = __builtin_bit_cast(double, (exponent - 53) << 52U);
  double added = 0;
  for (unsigned k = 0; k < kSumsPerLane; ++k) {
    const double rounded = (sum + values.at[k]) - sum;
    const bool is_tie = std::fabs(values.at[k] - rounded) == half_place;
    added += is_tie ? INFINITY : rounded;
  }
  for (int distance = 16; distance > 0; distance /= 2) added += __shfl_xor_sync(kAllLanes, added, distance);
  return sum + added;
}

// One warp; every lane has the sum. The order is that of the blocks.
__global__ void add_in_order_kernel(const double* block_sums, std::size_t count, double* norm) {
  constexpr std::size_t kAtOnce = kWarp * kSumsPerLane;
  double sum = 0;
  SumsOfLane next = load_sums(block_sums, 0, count);
  for (std::size_t begin = 0; begin < count; begin += kAtOnce) {
    const SumsOfLane values = next;
    next = load_sums(block_sums, begin + kAtOnce, count);
    const double after = added_at_once(sum, values);
    if (exponent_of(after) == exponent_of(sum) && after < INFINITY) {
      sum = after;
      continue;
    }
    for (unsigned k = 0; k < kSumsPerLane; ++k) {
      for (int lane = 0; lane < static_cast<int>(kWarp); ++lane) sum += __shfl_sync(kAllLanes, values.at[k], lane);
    }
  }
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
