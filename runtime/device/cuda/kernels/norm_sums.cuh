// A squared norm on a GPU: sums of blocks of kNormBlock elements, 16 threads each, and their sums by warps.
// The order of both is that of shoal::squared_norm(), and so are the bits.
#pragma once

#include "model/arithmetic/step_elements.h"
#include "runtime/device/cuda/kernels/launching.cuh"

namespace shoal::gpu {

inline constexpr unsigned kNormBlocksAtOnce = kThreads / kNormLanes;  // of a thread block
inline constexpr unsigned kSquaresAtOnce = 8;                         // loads that a thread has under way
inline constexpr unsigned kSumsPerLane = kNormGroup / kWarp;          // which it loads before it adds them

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

// Adds sums that lie `stride` apart, in their order, by one warp; every lane has the result. Lanes load them, and all
// of them add what each lane has: the chain of additions waits for no memory.
__device__ __forceinline__ double added_in_order(const double* sums, std::size_t count, std::size_t stride) {
  double sum = 0;
  for (std::size_t begin = 0; begin < count; begin += kWarp * kSumsPerLane) {
    double values[kSumsPerLane];
    for (unsigned k = 0; k < kSumsPerLane; ++k) {
      const std::size_t at = begin + k * kWarp + threadIdx.x % kWarp;
      values[k] = at < count ? sums[at * stride] : 0.0;  // which adds nothing
    }
    for (unsigned k = 0; k < kSumsPerLane && begin + k * kWarp < count; ++k) {
      for (int lane = 0; lane < static_cast<int>(kWarp); ++lane) sum += __shfl_sync(kAllLanes, values[k], lane);
    }
  }
  return sum;
}

}  // namespace shoal::gpu
