// The exponential of our own loops: its bits do not depend on a maths library's vector variants.
// For functions over plain memory that are compiled as model/CMakeLists.txt says: explicit fma, no contraction.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace shoal {

// exp(z) by 2^n exp(r), |r| <= ln(2)/2, degree 6; z is clamped to where the result is a normal number. NaN stays NaN.
inline __attribute__((always_inline)) float exponential(float z) {
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
  const auto exponent = std::bit_cast<std::uint32_t>(shifted) << 23U;  // the low bits of n, moved into place
  return p * std::bit_cast<float>(exponent + (127U << 23U));
}

}  // namespace shoal
