// SwiGLU's gate for one element: silu(g) = g / (1 + exp(-g)), and its slope.
// One exponential and one division each.
#pragma once

#include <cmath>

#include "model/arithmetic/exponential.h"

namespace shoal {

SHOAL_ELEMENT float silu_of(float g) { return g / (1.0F + exponential(-g)); }

// silu'(g).
SHOAL_ELEMENT float silu_slope_of(float g) {
  const float e = exponential(-g);
  const float s = 1.0F / (1.0F + e);
  return s * std::fma(g, e * s, 1.0F);
}

}  // namespace shoal
