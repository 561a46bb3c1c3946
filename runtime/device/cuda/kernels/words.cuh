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

// The larger (smaller) of two words, or of both halves of them; NaN where one is NaN.
template <class T>
__device__ __forceinline__ std::uint32_t larger_of(std::uint32_t a, std::uint32_t b) {
  if constexpr (sizeof(T) == sizeof(float)) return bits_of(at_least(float_of(a), float_of(b)));
#ifdef __CUDA_ARCH__
  asm("max.NaN.bf16x2 %0, %1, %2;" : "=r"(a) : "r"(a), "r"(b));
  return a;
#else
  const float low = at_least(float_of(a << 16U), float_of(b << 16U));
  return bits_of(at_least(float_of(a & 0xFFFF0000U), float_of(b & 0xFFFF0000U))) | bits_of(low) >> 16U;
#endif
}
template <class T>
__device__ __forceinline__ std::uint32_t smaller_of(std::uint32_t a, std::uint32_t b) {
  if constexpr (sizeof(T) == sizeof(float)) return bits_of(at_most(float_of(a), float_of(b)));
#ifdef __CUDA_ARCH__
  asm("min.NaN.bf16x2 %0, %1, %2;" : "=r"(a) : "r"(a), "r"(b));
  return a;
#else
  const float low = at_most(float_of(a << 16U), float_of(b << 16U));
  return bits_of(at_most(float_of(a & 0xFFFF0000U), float_of(b & 0xFFFF0000U))) | bits_of(low) >> 16U;
#endif
}

// The largest (smallest) value of a pack; NaN where one is NaN.
template <class T>
__device__ __forceinline__ float largest_of(const Words& pack) {
  const std::uint32_t word = larger_of<T>(larger_of<T>(pack.at[0], pack.at[1]), larger_of<T>(pack.at[2], pack.at[3]));
  if constexpr (sizeof(T) == sizeof(float)) return float_of(word);
  return at_least(float_of(word << 16U), float_of(word & 0xFFFF0000U));
}
template <class T>
__device__ __forceinline__ float smallest_of(const Words& pack) {
  const std::uint32_t word =
      smaller_of<T>(smaller_of<T>(pack.at[0], pack.at[1]), smaller_of<T>(pack.at[2], pack.at[3]));
  if constexpr (sizeof(T) == sizeof(float)) return float_of(word);
  return at_most(float_of(word << 16U), float_of(word & 0xFFFF0000U));
}

}  // namespace shoal::gpu
