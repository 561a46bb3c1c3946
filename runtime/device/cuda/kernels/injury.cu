// One thread each. The address comes as an argument: a compiler that saw it would make something else of the write.
#include "runtime/device/cuda/kernels/injury.h"

#ifndef __CUDACC__
#include <chrono>
#endif

#include "runtime/device/cuda/kernels/launching.cuh"

namespace shoal::gpu {
namespace {

constexpr std::uintptr_t kNowhere = 64;

__device__ __forceinline__ std::uint64_t now_ns() {
#ifdef __CUDACC__
  unsigned long long ns = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  return ns;
#else
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}

__global__ void write_kernel(volatile unsigned* at) { *at = 1; }

__global__ void spin_kernel(std::uint64_t nanoseconds) {
  const std::uint64_t begin = now_ns();
  while (now_ns() - begin < nanoseconds) {
  }
}

}  // namespace

LaunchError write_nowhere(Stream stream) {
  return launch({dim3(1), dim3(1)}, stream, write_kernel, reinterpret_cast<volatile unsigned*>(kNowhere));
}

LaunchError spin(std::uint64_t nanoseconds, Stream stream) {
  return launch({dim3(1), dim3(1)}, stream, spin_kernel, nanoseconds);
}

}  // namespace shoal::gpu
