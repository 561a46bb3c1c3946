// Four values as floats, whatever type they have in memory: what a thread takes at once where both types are met.
// Addresses are multiples of 16 bytes for floats, of 8 for brain floats.
#pragma once

#include "runtime/device/cuda/kernels/launching.cuh"

namespace shoal::gpu {

inline constexpr unsigned kQuad = 4;

struct Quad {
  float at[kQuad];
};

__device__ __forceinline__ Quad load_quad(const float* from) {
  const Pack<float> pack = load_pack(from);
  return {{pack.at[0], pack.at[1], pack.at[2], pack.at[3]}};
}
__device__ __forceinline__ Quad load_quad(const Bf16* from) {
  struct alignas(8) Half {
    Bf16 at[kQuad];
  };
  const Half half = *reinterpret_cast<const Half*>(from);
  return {{to_float(half.at[0]), to_float(half.at[1]), to_float(half.at[2]), to_float(half.at[3])}};
}
__device__ __forceinline__ void store_quad(float* to, const Quad& quad) {
  store_pack(to, Pack<float>{{quad.at[0], quad.at[1], quad.at[2], quad.at[3]}});
}
__device__ __forceinline__ void store_quad(Bf16* to, const Quad& quad) {
  struct alignas(8) Half {
    Bf16 at[kQuad];
  };
  *reinterpret_cast<Half*>(to) = {{bf16_of(quad.at[0]), bf16_of(quad.at[1]), bf16_of(quad.at[2]), bf16_of(quad.at[3])}};
}

}  // namespace shoal::gpu
