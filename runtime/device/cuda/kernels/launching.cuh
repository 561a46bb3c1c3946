// What all kernels' sources share: launching, packs of 16 bytes, conversion to and from brain floats.
//
// Launches go through cudaLaunchKernelEx, which is plain C++, so that a source compiles unchanged with a C++ compiler
// where a test runs it on the CPU.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>

#include "runtime/base/arithmetic/bf16.h"
#include "runtime/device/cuda/kernels/launch.h"

namespace shoal::gpu {

inline constexpr unsigned kThreads = 256;  // of a block, where a kernel has no other need
inline constexpr unsigned kWarp = 32;
inline constexpr unsigned kAllLanes = 0xFFFFFFFFU;
inline constexpr std::size_t kBlocksMost = 8192;  // beyond it, blocks take several turns

struct Grid {
  dim3 blocks, threads;
  std::size_t shared_bytes = 0;       // that a block of this launch has beside the arrays which its kernel declares
  std::size_t shared_bytes_most = 0;  // of any launch of the kernel
};

template <class... Parameters, class... Arguments>
[[nodiscard]] LaunchError launch(const Grid& grid, Stream stream, void (*kernel)(Parameters...),
                                 const Arguments&... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = grid.blocks;
  config.blockDim = grid.threads;
  config.dynamicSmemBytes = grid.shared_bytes;
  config.stream = stream;
  // A device gives more than 48 KiB to a kernel that says so. It is said once for all, for other threads launch it,
  // too.
  if (grid.shared_bytes_most > 0) {
    const auto bytes = static_cast<int>(grid.shared_bytes_most);
    int error = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (error == cudaSuccess) error = cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, 100);
    if (error != cudaSuccess) return error;
  }
  return static_cast<LaunchError>(cudaLaunchKernelEx(&config, kernel, arguments...));
}

// Returns the shared memory that a block can have on the current device beside `own_bytes` of its kernel's arrays,
// where so many blocks of a multiprocessor have as much. 0 where the device says nothing.
inline std::size_t shared_bytes_most(unsigned blocks, std::size_t own_bytes) {
  int device = 0, of_all = 0, of_one = 0, reserved = 0;
  const bool is_known =
      cudaGetDevice(&device) == cudaSuccess &&
      cudaDeviceGetAttribute(&of_all, cudaDevAttrMaxSharedMemoryPerMultiprocessor, device) == cudaSuccess &&
      cudaDeviceGetAttribute(&of_one, cudaDevAttrMaxSharedMemoryPerBlockOptin, device) == cudaSuccess &&
      cudaDeviceGetAttribute(&reserved, cudaDevAttrReservedSharedMemoryPerBlock, device) == cudaSuccess;
  if (!is_known) return 0;
  const int most = std::min(of_all / static_cast<int>(blocks) - reserved, of_one);
  return most > static_cast<int>(own_bytes) ? static_cast<std::size_t>(most) - own_bytes : 0;
}

inline std::size_t parts_of(std::size_t count, std::size_t part) { return (count + part - 1) / part; }

// One thread per element, up to kBlocksMost blocks: the kernel strides over the rest.
inline Grid grid_over(std::size_t count) {
  const std::size_t blocks = std::min(parts_of(count, kThreads), kBlocksMost);
  return {dim3(static_cast<unsigned>(blocks)), dim3(kThreads)};
}

// One block per part: a grid has up to 2^31 blocks in x.
inline Grid one_block_each(std::size_t count, unsigned threads = kThreads) {
  return {dim3(static_cast<unsigned>(count)), dim3(threads)};
}

__device__ __forceinline__ std::size_t first_element() {
  return static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ __forceinline__ std::size_t all_threads() { return static_cast<std::size_t>(gridDim.x) * blockDim.x; }

// 16 bytes, which a thread loads and stores at once. Its address is a multiple of 16.
template <class T>
struct alignas(16) Pack {
  static constexpr unsigned kCount = 16 / sizeof(T);
  T at[kCount];
};

template <class T>
__device__ __forceinline__ Pack<T> load_pack(const T* from) {
  return *reinterpret_cast<const Pack<T>*>(from);
}
template <class T>
__device__ __forceinline__ void store_pack(T* to, const Pack<T>& pack) {
  *reinterpret_cast<Pack<T>*>(to) = pack;
}
inline bool is_aligned(const void* at) { return reinterpret_cast<std::uintptr_t>(at) % 16 == 0; }

SHOAL_ELEMENT float to_float(float value) { return value; }
SHOAL_ELEMENT float to_float(Bf16 value) { return float_of_bf16(value.bits); }

SHOAL_ELEMENT Bf16 bf16_of(float value) { return {to_bf16_or_nan(value)}; }

template <class T>
SHOAL_ELEMENT T from_float(float value) {
  if constexpr (sizeof(T) == sizeof(float)) {
    return value;
  } else {
    return bf16_of(value);
  }
}

// Rounds values among which no NaN is. One instruction for two brain floats; their bits are those of bf16_of().
template <class T>
__device__ __forceinline__ Pack<T> pack_of_numbers(const float (&values)[Pack<T>::kCount]);
template <>
__device__ __forceinline__ Pack<float> pack_of_numbers<float>(const float (&values)[4]) {
  return {values[0], values[1], values[2], values[3]};
}
template <>
__device__ __forceinline__ Pack<Bf16> pack_of_numbers<Bf16>(const float (&values)[8]) {
#ifdef __CUDA_ARCH__
  Pack<std::uint32_t> pairs;
  for (unsigned i = 0; i < 4; ++i) {
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pairs.at[i]) : "f"(values[2 * i + 1]), "f"(values[2 * i]));
  }
  return __builtin_bit_cast(Pack<Bf16>, pairs);
#else
  Pack<Bf16> pack;
  for (unsigned i = 0; i < 8; ++i) pack.at[i] = bf16_of(values[i]);
  return pack;
#endif
}

// The sum over a warp's lanes, the same bits in each of them.
__device__ __forceinline__ float sum_over_warp(float value) {
  for (int distance = 16; distance > 0; distance /= 2) value += __shfl_xor_sync(kAllLanes, value, distance);
  return value;
}

}  // namespace shoal::gpu
