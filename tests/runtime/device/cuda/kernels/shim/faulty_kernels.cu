// Each mistake is a branch of one small kernel.
#include "tests/runtime/device/cuda/kernels/shim/faulty_kernels.h"

#include "runtime/device/cuda/kernels/words.cuh"

namespace shoal::gpu::faulty {
namespace {

constexpr unsigned kCount = 64;
constexpr unsigned kCopiers = kCount / Words::kCount;

__global__ void faulty_kernel(Mistake mistake, float* values) {
  __shared__ float tile[kCount];
  __shared__ float other[kCount];
  const unsigned t = threadIdx.x;
  float* mine = values + blockIdx.x * kCount;
  if (mistake == Mistake::kSameElement && t == 1) mine = mine - 1;
  if (mistake == Mistake::kSameBlocks) mine = values;
  if (mistake == Mistake::kBehindTheEnd) ++mine;
  if (mistake == Mistake::kLonelyBarrier && t >= kCount / 2) return;
  if (mistake == Mistake::kLonelyShuffle && t % 32 == 7) return;
  if (mistake == Mistake::kLonelyShuffle) mine[t] = __shfl_xor_sync(kAllLanes, mine[t], 1);
  tile[t] = mine[t];
  if (mistake != Mistake::kMissingBarrier) __syncthreads();
  float read = tile[kCount - 1 - t];
  if (mistake == Mistake::kUnwrittenShared) read = other[t];
  if (mistake == Mistake::kOverwrittenRead) tile[t] = 0;
  other[t] = read;
  mine[t] = read;
}

// Each thread copies 4 of the block's 64 values, in two parts. Nobody reads the second one.
__global__ void copying_kernel(Mistake mistake, float* values) {
  auto* const tile = static_cast<Words*>(shim::dynamic_shared_memory());
  auto* const floats = reinterpret_cast<float*>(tile);
  const unsigned t = threadIdx.x;
  float* mine = values + blockIdx.x * kCount;
  copy_later<InCache::kAsUsual>(tile + t, mine + 4 * t);
  end_part_of_copies();
  copy_later<InCache::kAsUsual>(tile + kCopiers + t, mine + 4 * t);
  end_part_of_copies();
  if (mistake != Mistake::kMissingWait) wait_for_copies<1>();
  if (mistake == Mistake::kMissingWait) wait_for_copies<2>();
  __syncthreads();
  float read[4];
  for (unsigned i = 0; i < 4; ++i) read[i] = floats[kCount - 1 - 4 * t - i];
  __syncthreads();
  for (unsigned i = 0; i < 4; ++i) mine[4 * t + i] = read[i];
  if (mistake != Mistake::kForgottenCopy) wait_for_copies<0>();
}

}  // namespace

LaunchError run(Mistake mistake, float* values, unsigned blocks) {
  if (mistake < Mistake::kCopies) return launch({dim3(blocks), dim3(kCount)}, nullptr, faulty_kernel, mistake, values);
  Grid grid{dim3(blocks), dim3(kCopiers), 2 * kCount * sizeof(float)};
  if (mistake == Mistake::kTooFewBytes) grid.shared_bytes -= sizeof(Words);
  if (mistake == Mistake::kUnsaidBytes) grid.shared_bytes = (std::size_t{48} << 10U) + 1;
  return launch(grid, nullptr, copying_kernel, mistake, values);
}

}  // namespace shoal::gpu::faulty
