// Each mistake is a branch of one small kernel.
#include "tests/runtime/device/cuda/kernels/shim/faulty_kernels.h"

#include "runtime/device/cuda/kernels/launching.cuh"

namespace shoal::gpu::faulty {
namespace {

constexpr unsigned kCount = 64;

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

}  // namespace

LaunchError run(Mistake mistake, float* values, unsigned blocks) {
  return launch({dim3(blocks), dim3(kCount)}, nullptr, faulty_kernel, mistake, values);
}

}  // namespace shoal::gpu::faulty
