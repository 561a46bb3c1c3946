// The loops of GELU. The exponential is our own, so that its bits do not depend on a maths library's vector variants.
#include "model/activation_kernels.h"

#include <bit>
#include <cmath>
#include <cstdint>

#include "runtime/base/arithmetic/vector_clones.h"
#include "runtime/base/check.h"

namespace shoal {
namespace {

constexpr float kRootTwoOverPi = 0.7978845608F;
constexpr float kCubic = 0.044715F;

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

// exp(-2u).
inline __attribute__((always_inline)) float falloff(float x) {
  const float cubic = std::fma(kCubic * x * x, x, x);
  return exponential(-2 * kRootTwoOverPi * cubic);
}

SHOAL_VECTOR_CLONES void forward(const float* __restrict x, float* __restrict y, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) y[i] = x[i] / (1.0F + falloff(x[i]));
}

SHOAL_VECTOR_CLONES void backward(const float* __restrict x, const float* __restrict dy, float* __restrict dx,
                                  std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const float e = falloff(x[i]);
    const float s = 1.0F / (1.0F + e);
    const float slope = 2 * kRootTwoOverPi * std::fma(3 * kCubic * x[i], x[i], 1.0F);
    dx[i] = dy[i] * std::fma(x[i] * s * (e * s), slope, s);
  }
}

}  // namespace

void gelu_forward(std::span<const float> x, std::span<float> y) {
  CHECK(x.size() == y.size(), "one result per value");
  forward(x.data(), y.data(), x.size());
}

void gelu_backward(std::span<const float> x, std::span<const float> dy, std::span<float> dx) {
  CHECK(x.size() == dy.size() && x.size() == dx.size(), "one gradient per value");
  backward(x.data(), dy.data(), dx.data(), x.size());
}

}  // namespace shoal
