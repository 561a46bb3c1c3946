// A pack as four words: floats, or pairs of brain floats. A pack of halves would be kept half by half, and each would
// cost an instruction wherever it is passed on.
#pragma once

#include "model/arithmetic/exponential.h"
#include "runtime/device/cuda/kernels/launching.cuh"

namespace shoal::gpu {

using Words = Pack<std::uint32_t>;

template <class T>
__device__ __forceinline__ Words load_words(const T* from) {
  return *reinterpret_cast<const Words*>(from);
}

// Copies a pack into shared memory while the thread goes on. Only that thread may read it, after wait_for_copies().
template <class T>
__device__ __forceinline__ void copy_later(Words* shared, const T* from) {
#ifdef __CUDA_ARCH__
  const auto at = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(from) : "memory");
#else
  *shared = load_words(from);
#endif
}
__device__ __forceinline__ void wait_for_copies() {
#ifdef __CUDA_ARCH__
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

template <class T>
struct Floats {
  float at[Pack<T>::kCount];
};
template <class T>
__device__ __forceinline__ Floats<T> floats_of(const Words& words) {
  Floats<T> floats;
  for (unsigned i = 0; i < Words::kCount; ++i) {
    const std::uint32_t word = words.at[i];
    if constexpr (sizeof(T) == sizeof(float)) {
      floats.at[i] = float_of(word);
    } else {
      floats.at[2 * i] = float_of(word << 16U);
      floats.at[2 * i + 1] = float_of(word & 0xFFFF0000U);
    }
  }
  return floats;
}

// Two ways to choose between values; NaN where one is NaN. of_pairs: both halves of two words, as brain floats, at
// once.
struct Larger {
  __device__ __forceinline__ static float of(float a, float b) { return at_least(a, b); }
#ifdef __CUDA_ARCH__
  __device__ __forceinline__ static std::uint32_t of_pairs(std::uint32_t a, std::uint32_t b) {
    asm("max.NaN.bf16x2 %0, %1, %2;" : "=r"(a) : "r"(a), "r"(b));
    return a;
  }
#endif
};
struct Smaller {
  __device__ __forceinline__ static float of(float a, float b) { return at_most(a, b); }
#ifdef __CUDA_ARCH__
  __device__ __forceinline__ static std::uint32_t of_pairs(std::uint32_t a, std::uint32_t b) {
    asm("min.NaN.bf16x2 %0, %1, %2;" : "=r"(a) : "r"(a), "r"(b));
    return a;
  }
#endif
};

template <class Which, class T>
__device__ __forceinline__ std::uint32_t chosen(std::uint32_t a, std::uint32_t b) {
  if constexpr (sizeof(T) == sizeof(float)) return bits_of(Which::of(float_of(a), float_of(b)));
#ifdef __CUDA_ARCH__
  return Which::of_pairs(a, b);
#else
  const float high = Which::of(float_of(a & 0xFFFF0000U), float_of(b & 0xFFFF0000U));
  return bits_of(high) | bits_of(Which::of(float_of(a << 16U), float_of(b << 16U))) >> 16U;
#endif
}

// The largest or the smallest value of a pack.
template <class Which, class T>
__device__ __forceinline__ float chosen_of(const Words& pack) {
  const std::uint32_t word =
      chosen<Which, T>(chosen<Which, T>(pack.at[0], pack.at[1]), chosen<Which, T>(pack.at[2], pack.at[3]));
  if constexpr (sizeof(T) == sizeof(float)) return float_of(word);
  return Which::of(float_of(word << 16U), float_of(word & 0xFFFF0000U));
}

}  // namespace shoal::gpu
