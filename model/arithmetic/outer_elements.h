// The arithmetic of one element of the outer step. outer_kernels.h says what the results mean.
// Coefficients are a kernel's parameters and a loop's constants: they do not change from element to element.
#pragma once

#include <cmath>

#include "runtime/base/arithmetic/element.h"

namespace shoal {

struct OuterCoefficients {
  float learning_rate = 0;
  float momentum = 0;
};

// Weights in tokens (whole numbers below 2^29, so that products with a float32 are exact in double).
struct EagerWeights {
  double newest = 0;       // this worker's delta of the round that just ended
  double stale_own = 0;    // its own share in the mean; 0: it was not merged
  double stale_total = 0;  // all of the mean

  [[nodiscard]] SHOAL_ELEMENT double divisor() const { return newest + (stale_total - stale_own); }
};

struct OuterElement {
  float outer = 0, momentum = 0;
};

struct EagerElement {
  float gradient = 0, contribution = 0;
};

SHOAL_ELEMENT OuterElement nesterov_of(const OuterCoefficients& k, const OuterElement& before, float gradient) {
  const float buffer = std::fma(k.momentum, before.momentum, gradient);
  return {std::fma(-k.learning_rate, std::fma(k.momentum, buffer, gradient), before.outer), buffer};
}

// mix is neither 0 nor 1: those copy and keep, without arithmetic. rest: 1 - mix.
SHOAL_ELEMENT float blend_of(float mix, float rest, float outer, float local) {
  return std::fma(mix, local, rest * outer);
}

// A delta without weight is one of zeros, whatever its values are.
SHOAL_ELEMENT EagerElement eager_of(const EagerWeights& w, double divisor, float delta, float mean,
                                    float contribution) {
  const float newest = w.newest > 0 ? delta : 0.0F;
  const float stale = w.stale_own > 0 ? contribution : 0.0F;
  const double others = w.stale_total * static_cast<double>(mean) - w.stale_own * static_cast<double>(stale);
  return {static_cast<float>((w.newest * static_cast<double>(newest) + others) / divisor), newest};
}

}  // namespace shoal
