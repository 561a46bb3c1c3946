// A squared norm on a GPU: sums of blocks of kNormBlock elements, 16 threads each, and their sum by a warp.
// The order of both is that of shoal::squared_norm(), and so are the bits.
#pragma once

#include <cmath>

#include "model/arithmetic/step_elements.h"
#include "runtime/device/cuda/kernels/launching.cuh"

namespace shoal::gpu {

inline constexpr unsigned kNormBlocksAtOnce = kThreads / kNormLanes;  // of a thread block
inline constexpr unsigned kSquaresAtOnce = 8;                         // loads that a thread has under way
inline constexpr unsigned kSumsPerLane = 8;                           // of blocks, which a warp adds at once

// The next values of a lane; 0 beyond the end, which adds nothing.
struct ValuesOfLane {
  float at[kSquaresAtOnce];
};

__device__ __forceinline__ ValuesOfLane load_values(const float* values, std::size_t begin, std::size_t count) {
  ValuesOfLane loaded;
  for (unsigned k = 0; k < kSquaresAtOnce; ++k) {
    const std::size_t at = begin + k * kNormLanes;
    loaded.at[k] = at < count ? values[at] : 0.0F;
  }
  return loaded;
}

// Sums the squares of a block of `count` values by its 16 lanes; each of them has the sum. All threads of the warp
// call. Values are on their way while those before them are added: a lane's sum is a chain of additions in double.
__device__ __forceinline__ double norm_of_block(const float* values, std::size_t count) {
  constexpr std::size_t kStep = kNormLanes * kSquaresAtOnce;
  double lane = 0;
  ValuesOfLane next = load_values(values, threadIdx.x % kNormLanes, count);
  for (std::size_t i = threadIdx.x % kNormLanes; i < count; i += kStep) {
    const ValuesOfLane loaded = next;
    next = load_values(values, i + kStep, count);
    for (unsigned k = 0; k < kSquaresAtOnce; ++k) lane += square_of(loaded.at[k]);
  }
  double sum = 0;
  for (int i = 0; i < static_cast<int>(kNormLanes); ++i) {
    sum += __shfl_sync(kAllLanes, lane, i, static_cast<int>(kNormLanes));
  }
  return sum;
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

// Adds kCount values of each lane to `sum` with the bits of adding them one by one, if the result stays below the next
// power of two and meets no tie; otherwise returns anything of another exponent. A sum's exponent is its last place: an
// addition only rounds the value to that place, whatever was added before, and multiples of it are added without
// rounding in any order. All values are >= 0.
template <unsigned kCount>
__device__ __forceinline__ double added_at_once(double sum, const double (&values)[kCount]) {
  const std::uint64_t exponent = exponent_of(sum);
  if (exponent <= 53) return INFINITY;
  const double half_place = __builtin_bit_cast(double, (exponent - 53) << 52U);
  double added = 0;
  for (unsigned k = 0; k < kCount; ++k) {
    const double rounded = (sum + values[k]) - sum;
    const bool is_tie = std::fabs(values[k] - rounded) == half_place;
    added += is_tie ? INFINITY : rounded;
  }
  for (int distance = 16; distance > 0; distance /= 2) added += __shfl_xor_sync(kAllLanes, added, distance);
  return sum + added;
}

__device__ __forceinline__ bool is_as_one_by_one(double before, double after) {
  return exponent_of(after) == exponent_of(before) && after < INFINITY;
}

// Adds a value of each lane, in the lanes' order.
__device__ __forceinline__ double added_by_lanes(double sum, double value) {
  const double values[1] = {value};
  const double after = added_at_once(sum, values);
  if (is_as_one_by_one(sum, after)) return after;
  for (int lane = 0; lane < static_cast<int>(kWarp); ++lane) sum += __shfl_sync(kAllLanes, value, lane);
  return sum;
}

// Adds the blocks' sums in their order, by one warp; every lane has the result.
__device__ __forceinline__ double added_in_order(const double* block_sums, std::size_t count) {
  constexpr std::size_t kAtOnce = kWarp * kSumsPerLane;
  double sum = 0;
  SumsOfLane next = load_sums(block_sums, 0, count);
  for (std::size_t begin = 0; begin < count; begin += kAtOnce) {
    const SumsOfLane values = next;
    next = load_sums(block_sums, begin + kAtOnce, count);
    const double after = added_at_once(sum, values.at);
    if (is_as_one_by_one(sum, after)) {
      sum = after;
      continue;
    }
    for (unsigned k = 0; k < kSumsPerLane; ++k) sum = added_by_lanes(sum, values.at[k]);
  }
  return sum;
}

}  // namespace shoal::gpu
