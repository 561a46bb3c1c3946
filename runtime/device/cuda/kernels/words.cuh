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

// Tells the L2 cache what to do with what is read or written: as usual; keep it, for it is wanted again; give it up
// first. No value depends on it.
enum class InCache { kAsUsual, kWantedAgain, kDoneWith };
template <InCache kHow>
__device__ __forceinline__ std::uint64_t cache_policy() {
  static_assert(kHow != InCache::kAsUsual);
  std::uint64_t policy = 0;
#ifdef __CUDA_ARCH__
  if constexpr (kHow == InCache::kWantedAgain) {
    asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
  } else {
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  }
#endif
  return policy;
}
template <InCache kHow, class T>
__device__ __forceinline__ Words load_words(const T* from) {
#ifdef __CUDA_ARCH__
  Words words;
  asm volatile("ld.global.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;"
               : "=r"(words.at[0]), "=r"(words.at[1]), "=r"(words.at[2]), "=r"(words.at[3])
               : "l"(__cvta_generic_to_global(from)), "l"(cache_policy<kHow>())
               : "memory");
  return words;
#else
  return load_words(from);
#endif
}
template <InCache kHow, class T>
__device__ __forceinline__ void store_pack(T* to, const Pack<T>& pack) {
#ifdef __CUDA_ARCH__
  if constexpr (kHow != InCache::kAsUsual) {
    const auto words = __builtin_bit_cast(Words, pack);
    asm volatile("st.global.L2::cache_hint.v4.u32 [%0], {%1, %2, %3, %4}, %5;" ::"l"(__cvta_generic_to_global(to)),
                 "r"(words.at[0]), "r"(words.at[1]), "r"(words.at[2]), "r"(words.at[3]), "l"(cache_policy<kHow>())
                 : "memory");
    return;
  }
#endif
  store_pack(to, pack);
}

// Copies a pack into shared memory while the thread goes on. Copies are waited for in parts, which the thread ends;
// only that thread may read them.
template <InCache kHow, class T>
__device__ __forceinline__ void copy_later(Words* shared, const T* from) {
#ifdef __CUDA_ARCH__
  const auto at = static_cast<std::uint32_t>(__cvta_generic_to_shared(shared));
  if constexpr (kHow == InCache::kAsUsual) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(from) : "memory");
  } else {
    asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2;" ::"r"(at), "l"(from),
                 "l"(cache_policy<kHow>())
                 : "memory");
  }
#elif !defined(__CUDACC__)
  __pipeline_memcpy_async(shared, from, sizeof(Words));
#endif
}
__device__ __forceinline__ void end_part_of_copies() {
#ifdef __CUDA_ARCH__
  asm volatile("cp.async.commit_group;" ::: "memory");
#elif !defined(__CUDACC__)
  __pipeline_commit();
#endif
}
// Returns when all parts are there but for the last kLater of them.
template <unsigned kLater>
__device__ __forceinline__ void wait_for_copies() {
#ifdef __CUDA_ARCH__
  asm volatile("cp.async.wait_group %0;" ::"n"(kLater) : "memory");
#elif !defined(__CUDACC__)
  __pipeline_wait_prior(kLater);
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
