// The arithmetic of one element of a step: accumulate, mean, update. update_kernels.h says what the results mean.
// Coefficients are a kernel's parameters and a loop's constants: they do not change from element to element.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "runtime/base/arithmetic/element.h"

namespace shoal {

// A squared norm: blocks of so many elements, of which lane i mod kNormLanes takes element i; groups of so many blocks.
inline constexpr std::size_t kNormBlock = 4096;
inline constexpr std::size_t kNormLanes = 16;
inline constexpr std::size_t kNormGroup = 256;

struct AdamwCoefficients {
  float clip_scale = 1;
  float decay = 1;  // 1 - lr * weight_decay, or 1 where nothing decays
  float one_minus_beta1 = 0;
  float beta2 = 0;
  float one_minus_beta2 = 0;
  float step_size = 0;        // lr / (1 - beta1^t)
  float root_correction = 1;  // sqrt(1 - beta2^t)
  float eps = 0;
};

struct AdamwElement {
  float weight = 0, exp_avg = 0, exp_avg_sq = 0;
};

struct SgdCoefficients {
  float clip_scale = 1;
  float decay = 1;
  float learning_rate = 0;
};

// True for NaN too.
SHOAL_ELEMENT bool is_beyond(float value, float limit) { return !(std::fabs(value) <= limit); }

// round(value * scale), halves away from zero. The caller has checked that it fits.
SHOAL_ELEMENT std::int64_t fixed_point(float value, double scale) {
  const double scaled = static_cast<double>(value) * scale;
  return static_cast<std::int64_t>(scaled + std::copysign(0.5, scaled));
}

SHOAL_ELEMENT float mean_of_fixed(std::int64_t sum, double scale, double tokens) {
  return static_cast<float>(static_cast<double>(sum) * scale / tokens);
}

SHOAL_ELEMENT float mean_of_float(float sum, double tokens) {
  return static_cast<float>(static_cast<double>(sum) / tokens);
}

SHOAL_ELEMENT double square_of(float value) { return static_cast<double>(value) * static_cast<double>(value); }

SHOAL_ELEMENT AdamwElement adamw_of(const AdamwCoefficients& k, const AdamwElement& before, float gradient) {
  const float g = gradient * k.clip_scale;
  const float m = std::fma(k.one_minus_beta1, g - before.exp_avg, before.exp_avg);
  const float v = std::fma(k.one_minus_beta2 * g, g, before.exp_avg_sq * k.beta2);
  const float denominator = std::sqrt(v) / k.root_correction + k.eps;
  return {std::fma(-k.step_size, m / denominator, before.weight * k.decay), m, v};
}

SHOAL_ELEMENT float sgd_of(const SgdCoefficients& k, float weight, float gradient) {
  return std::fma(-k.learning_rate, gradient * k.clip_scale, weight * k.decay);
}

}  // namespace shoal
