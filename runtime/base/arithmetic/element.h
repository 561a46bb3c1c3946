// Marks the functions of one element's arithmetic, which loops of the CPU and kernels of a GPU share.
//
// They are IEEE operations and explicit fma, so that both give the same bits: the CPU's sources are compiled with
// -ffp-contract=off, the kernels with --fmad=false. They are always inlined, because a loop in SHOAL_VECTOR_CLONES
// takes the instruction set of its clone only into what is inlined there.
#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define SHOAL_ELEMENT __host__ __device__ __forceinline__
#else
#define SHOAL_ELEMENT inline __attribute__((always_inline))
#endif

namespace shoal {

// std::bit_cast is a function of the host alone; the built-in that it calls is known to both compilers.
SHOAL_ELEMENT constexpr std::uint32_t bits_of(float value) { return __builtin_bit_cast(std::uint32_t, value); }
SHOAL_ELEMENT constexpr float float_of(std::uint32_t bits) { return __builtin_bit_cast(float, bits); }

}  // namespace shoal
