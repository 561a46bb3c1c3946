// GELU in its tanh form for one element, its gradient, and the exponential under them. activation_kernels.h has the
// formula. The exponential is our own, so that its bits do not depend on a maths library's variants.
#pragma once

#include <cmath>
#include <cstdint>

#include "runtime/base/arithmetic/element.h"

namespace shoal {

inline constexpr float kRootTwoOverPi = 0.7978845608F;
inline constexpr float kGeluCubic = 0.044715F;

// exp(z) by 2^n exp(r), |r| <= ln(2)/2, degree 6; z is clamped to where the result is a normal number. NaN stays NaN.
SHOAL_ELEMENT float exponential(float z) {
  constexpr float kShift = 0x1.8p23F;  // adding it leaves round(z / ln 2) in the low bits
  z = z < -87.0F ? -87.0F : z;
  z = z > 88.0F ? 88.0F : z;
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

// exp(-2u).
SHOAL_ELEMENT float gelu_falloff(float x) {
  const float cubic = std::fma(kGeluCubic * x * x, x, x);
  return exponential(-2 * kRootTwoOverPi * cubic);
}

SHOAL_ELEMENT float gelu_of(float x) { return x / (1.0F + gelu_falloff(x)); }

// dy * gelu'(x).
SHOAL_ELEMENT float gelu_gradient_of(float x, float dy) {
  const float e = gelu_falloff(x);
  const float s = 1.0F / (1.0F + e);
  const float slope = 2 * kRootTwoOverPi * std::fma(3 * kGeluCubic * x, x, 1.0F);
  return dy * std::fma(x * s * (e * s), slope, s);
}

}  // namespace shoal
