// The exponential of one element. It is our own, so that its bits do not depend on a maths library's vector variants,
// nor on a GPU's.
#pragma once

#include <cmath>
#include <cstdint>

#include "runtime/base/arithmetic/element.h"

namespace shoal {

// The value, but not below (above) the bound; NaN stays NaN, of either. One instruction of a GPU, which a comparison
// does not become.
SHOAL_ELEMENT float at_least(float value, float bound) {
#ifdef __CUDA_ARCH__
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(value) : "f"(value), "f"(bound));
  return value;
#else
  return value < bound || bound != bound ? bound : value;
#endif
}
SHOAL_ELEMENT float at_most(float value, float bound) {
#ifdef __CUDA_ARCH__
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(value) : "f"(value), "f"(bound));
  return value;
#else
  return value > bound || bound != bound ? bound : value;
#endif
}

// exp(z) for z of [-87, 88] or NaN, by 2^n exp(r), |r| <= ln(2)/2, degree 6.
SHOAL_ELEMENT float exponential_inside(float z) {
  constexpr float kShift = 0x1.8p23F;  // adding it leaves round(z / ln 2) in the low bits
  const float shifted = std::fma(z, 1.44269504F, kShift);
  const float n = shifted - kShift;
  float r = std::fma(n, -0x1.62e400p-1F, z);
  r = std::fma(n, -0x1.7f7d1cp-20F, r);
  float p = std::fma(r, 1.0F / 720, 1.0F / 120);
  p = std::fma(p, r, 1.0F / 24);
  p = std::fma(p, r, 1.0F / 6);
  p = std::fma(p, r, 0.5F);
  p = std::fma(p, r, 1.0F);
  p = std::fma(p, r, 1.0F);
  const std::uint32_t exponent = bits_of(shifted) << 23U;  // the low bits of n, moved into place
  return p * float_of(exponent + (127U << 23U));
}

// exp(z); z is clamped to where the result is a normal number. NaN stays NaN.
SHOAL_ELEMENT float exponential(float z) { return exponential_inside(at_most(at_least(z, -87.0F), 88.0F)); }

}  // namespace shoal
