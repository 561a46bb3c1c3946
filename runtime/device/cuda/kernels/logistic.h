// GELU, SwiGLU's gate and their slopes for one element of a GPU: the bits of gelu_elements.h and swiglu_elements.h, or
// NaN where the caller has to ask those. They divide by 1 + e without a branch, so that elements overlap.
//
// An IEEE division of a GPU is a dozen instructions and a branch to a subroutine for what they do not cover. Here the
// divisor is halved, which keeps its reciprocal a normal number; the reciprocal begins with an integer's subtraction
// (within 5.1 %), and the orders 4 and 3 of Newton's iteration leave about an error of rounding; the exact remainder
// corrects the quotient (Markstein). A quotient depends on one float alone: every one of the 2^32 was compared with the
// division, and logistic_test.cpp repeats a part of that.
#pragma once

#include <cmath>

#include "model/arithmetic/gelu_elements.h"
#include "model/arithmetic/swiglu_elements.h"

namespace shoal::gpu {

inline constexpr float kInvertibleMost = 0x1p125F;  // e beyond it: the slope's reciprocal is no normal number

SHOAL_ELEMENT float half_of_one_plus(float e) { return std::fma(e, 0.5F, 0.5F); }

// 1 / divisor, nearly: for divisors of [0.5, 2^126).
SHOAL_ELEMENT float reciprocal_of(float divisor) {
  float r = float_of(0x7EF311C7U - bits_of(divisor));
  float error = std::fma(-divisor, r, 1.0F);
  r = std::fma(std::fma(r, error, r), error * error, std::fma(r, error, r));
  error = std::fma(-divisor, r, 1.0F);
  return std::fma(r, std::fma(error, error, error), r);
}

// x / (1 + e). The minus stands at r, because a zero's sign would not survive it at the remainder.
SHOAL_ELEMENT float over_one_plus(float x, float e) {
  const float divisor = half_of_one_plus(e);
  const float r = reciprocal_of(divisor);
  const float quotient = x * r;
  const float remainder = std::fma(divisor, quotient, -x);
  return std::fma(remainder, -r, quotient) * 0.5F;
}

// 1 / (1 + e).
SHOAL_ELEMENT float inverse_of_one_plus(float e) {
  const float divisor = half_of_one_plus(e);
  const float r = reciprocal_of(divisor);
  const float inverse = std::fma(std::fma(-divisor, r, 1.0F), r, r) * 0.5F;
  return e <= kInvertibleMost ? inverse : NAN;
}

SHOAL_ELEMENT float gelu_or_nan(float x) { return over_one_plus(x, gelu_falloff(x)); }

SHOAL_ELEMENT float gelu_slope_or_nan(float x) {
  const float e = gelu_falloff(x);
  const float s = inverse_of_one_plus(e);
  const float slope = 2 * kRootTwoOverPi * std::fma(3 * kGeluCubic * x, x, 1.0F);
  return std::fma(x * s * (e * s), slope, s);
}

SHOAL_ELEMENT float silu_or_nan(float g) { return over_one_plus(g, exponential(-g)); }

SHOAL_ELEMENT float silu_slope_or_nan(float g) {
  const float e = exponential(-g);
  const float s = inverse_of_one_plus(e);
  return s * std::fma(g, e * s, 1.0F);
}

}  // namespace shoal::gpu
