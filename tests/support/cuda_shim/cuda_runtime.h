// CUDA's words for a kernel that runs on the CPU: in tests this folder stands in for the toolkit's include folder, and
// a kernel's source is compiled unchanged as C++.
//
// Each thread of a block is a fiber (shim.h says in which order they run, and what is checked). Not covered: tensor
// cores, how many blocks a multiprocessor has at once, the GPU's weak memory order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#define __global__
#define __device__
#define __host__
#define __shared__ static
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};

extern dim3 threadIdx, blockIdx, blockDim, gridDim;

using cudaError_t = int;
constexpr cudaError_t cudaSuccess = 0;
constexpr cudaError_t cudaErrorInvalidValue = 1;

struct CUstream_st;
using cudaStream_t = CUstream_st*;

struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  std::size_t dynamicSmemBytes = 0;
  cudaStream_t stream = nullptr;
};

// A device with as much shared memory as a test says (shim.h).
enum cudaDeviceAttr {
  cudaDevAttrMaxSharedMemoryPerMultiprocessor,
  cudaDevAttrMaxSharedMemoryPerBlockOptin,
  cudaDevAttrReservedSharedMemoryPerBlock,
};
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize, cudaFuncAttributePreferredSharedMemoryCarveout };
cudaError_t cudaGetDevice(int* device);
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device);

namespace shoal::shim {

cudaError_t set_attribute(const void* kernel, cudaFuncAttribute attribute, int value);

using Body = void (*)(const void* arguments);
struct Launch {
  const void* kernel = nullptr;
  const cudaLaunchConfig_t& config;
  Body body = nullptr;
  const void* arguments = nullptr;
};
cudaError_t run(const Launch& launch);

// CUDA has it as an array of unknown size.
void* dynamic_shared_memory();

// Publishes this thread's value to its warp, waits for the others of the mask, and returns that of `lane`.
std::uint64_t exchange(unsigned mask, std::uint64_t value, unsigned lane);
unsigned lane_of_this_thread();

template <class T>
T shuffled(unsigned mask, T value, unsigned lane) {
  static_assert(sizeof(T) <= sizeof(std::uint64_t) && std::is_trivially_copyable_v<T>);
  std::uint64_t word = 0;
  std::memcpy(&word, &value, sizeof(T));
  word = exchange(mask, word, lane);
  std::memcpy(&value, &word, sizeof(T));
  return value;
}

}  // namespace shoal::shim

template <class Kernel>
cudaError_t cudaFuncSetAttribute(Kernel* kernel, cudaFuncAttribute attribute, int value) {
  return shoal::shim::set_attribute(reinterpret_cast<const void*>(kernel), attribute, value);
}

// Copies into shared memory that are there when their thread has waited for them, and not before.
void __pipeline_memcpy_async(void* shared, const void* from, std::size_t byte_count);
void __pipeline_commit();
void __pipeline_wait_prior(std::size_t later);

void __syncthreads();
void __syncwarp(unsigned mask = 0xFFFFFFFFU);

template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32) {
  const unsigned lane = shoal::shim::lane_of_this_thread();
  const unsigned from = lane ^ static_cast<unsigned>(lane_mask);
  const bool is_inside = from / static_cast<unsigned>(width) == lane / static_cast<unsigned>(width);
  return shoal::shim::shuffled(mask, value, is_inside ? from : lane);
}

template <class T>
T __shfl_sync(unsigned mask, T value, int from, int width = 32) {
  const auto size = static_cast<unsigned>(width);
  const unsigned group = shoal::shim::lane_of_this_thread() / size * size;
  return shoal::shim::shuffled(mask, value, group + static_cast<unsigned>(from) % size);
}

unsigned atomicOr(unsigned* at, unsigned bits);
unsigned atomicMax(unsigned* at, unsigned value);
unsigned long long __umul64hi(unsigned long long a, unsigned long long b);

template <class... Parameters, class... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                               Arguments&&... arguments) {
  const auto call = [&] { kernel(static_cast<Parameters>(arguments)...); };
  const auto body = [](const void* of) { (*static_cast<const decltype(call)*>(of))(); };
  return shoal::shim::run({reinterpret_cast<const void*>(kernel), *config, body, &call});
}
