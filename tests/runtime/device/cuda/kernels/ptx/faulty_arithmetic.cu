// A kernel that breaks each rule of ptx_rules.h, compiled without --fmad=false and with too few registers: the proof
// that the rules see what nvcc really writes. Nothing runs it.
#include <cuda_runtime.h>

namespace shoal::gpu::faulty {

__global__ void faulty_arithmetic_kernel(const float* x, float* y, float* sum, int count) {
  float kept[48];
#pragma unroll
  for (int i = 0; i < 48; ++i) kept[i] = x[i * count + static_cast<int>(threadIdx.x)];
  float total = 0;
#pragma unroll
  for (int i = 0; i < 48; ++i) total = total * kept[i] + kept[47 - i];
#pragma unroll
  for (int i = 0; i < 48; ++i) y[i * count + static_cast<int>(threadIdx.x)] = kept[i] * rsqrtf(total);
  atomicAdd(sum, total);
}

}  // namespace shoal::gpu::faulty
