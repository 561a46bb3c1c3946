// GELU in its tanh form for one element, and its slope. activation_kernels.h has the formula.
// One exponential and one division each.
#pragma once

#include <cmath>

#include "model/arithmetic/exponential.h"

namespace shoal {

inline constexpr float kRootTwoOverPi = 0.7978845608F;
inline constexpr float kGeluCubic = 0.044715F;

// exp(-2u).
SHOAL_ELEMENT float gelu_falloff(float x) {
  const float cubic = std::fma(kGeluCubic * x * x, x, x);
  return exponential(-2 * kRootTwoOverPi * cubic);
}

SHOAL_ELEMENT float gelu_of(float x) { return x / (1.0F + gelu_falloff(x)); }

// gelu'(x).
SHOAL_ELEMENT float gelu_slope_of(float x) {
  const float e = gelu_falloff(x);
  const float s = 1.0F / (1.0F + e);
  const float slope = 2 * kRootTwoOverPi * std::fma(3 * kGeluCubic * x, x, 1.0F);
  return std::fma(x * s * (e * s), slope, s);
}

}  // namespace shoal
