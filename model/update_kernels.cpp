// The loops of a step's arithmetic; see vector_clones.h for why their bits are the same everywhere.
#include "model/update_kernels.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "runtime/base/arithmetic/vector_clones.h"
#include "runtime/base/ensure.h"

namespace shoal {
namespace {

SHOAL_VECTOR_CLONES bool within(const float* values, std::size_t count, float limit) {
  int outside = 0;
  for (std::size_t i = 0; i < count; ++i) outside |= static_cast<int>(is_beyond(values[i], limit));
  return outside == 0;
}

SHOAL_VECTOR_CLONES void add_exact(const float* values, double scale, std::int64_t* sums, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) sums[i] += fixed_point(values[i], scale);
}

SHOAL_VECTOR_CLONES void add_fast(const float* values, float* sums, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) sums[i] += values[i];
}

SHOAL_VECTOR_CLONES void mean_exact(const std::int64_t* sums, double scale, double tokens, float* means,
                                    std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) means[i] = mean_of_fixed(sums[i], scale, tokens);
}

SHOAL_VECTOR_CLONES void mean_fast(const float* sums, double tokens, float* means, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) means[i] = mean_of_float(sums[i], tokens);
}

SHOAL_VECTOR_CLONES double squares(const float* values, std::size_t count) {
  double lanes[kNormLanes] = {};
  std::size_t i = 0;
  for (; i + kNormLanes <= count; i += kNormLanes) {
    for (std::size_t lane = 0; lane < kNormLanes; ++lane) lanes[lane] += square_of(values[i + lane]);
  }
  for (std::size_t lane = 0; i + lane < count; ++lane) lanes[lane] += square_of(values[i + lane]);
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  return sum;
}

// Plain pointers: a span in a clone keeps the loop from being vectorised.
struct AdamwPointers {
  float* __restrict weights;
  float* __restrict exp_avg;
  float* __restrict exp_avg_sq;
  const float* __restrict gradient;
};

SHOAL_VECTOR_CLONES void adamw(const AdamwCoefficients& c, const AdamwPointers& at, std::size_t count) {
  const AdamwCoefficients k = c;
  float* __restrict weights = at.weights;
  float* __restrict exp_avg = at.exp_avg;
  float* __restrict exp_avg_sq = at.exp_avg_sq;
  const float* __restrict gradient = at.gradient;
  for (std::size_t i = 0; i < count; ++i) {
    const AdamwElement after = adamw_of(k, {weights[i], exp_avg[i], exp_avg_sq[i]}, gradient[i]);
    weights[i] = after.weight;
    exp_avg[i] = after.exp_avg;
    exp_avg_sq[i] = after.exp_avg_sq;
  }
}

SHOAL_VECTOR_CLONES void sgd(const SgdCoefficients& c, float* __restrict weights, const float* __restrict gradient,
                             std::size_t count) {
  const SgdCoefficients k = c;
  for (std::size_t i = 0; i < count; ++i) weights[i] = sgd_of(k, weights[i], gradient[i]);
}

}  // namespace

int fraction_bits(std::uint64_t planned_tokens) {
  ENSURE(planned_tokens >= 1, "a step plans at least one token");
  return 56 - static_cast<int>(std::bit_width(planned_tokens - 1));
}

bool all_within(std::span<const float> values, float limit) { return within(values.data(), values.size(), limit); }

void accumulate_exact(std::span<const float> values, int fraction_bits, std::span<std::int64_t> sums) {
  ENSURE(values.size() == sums.size(), "one sum per value");
  add_exact(values.data(), std::ldexp(1.0, fraction_bits), sums.data(), values.size());
}

void accumulate_fast(std::span<const float> values, std::span<float> sums) {
  ENSURE(values.size() == sums.size(), "one sum per value");
  add_fast(values.data(), sums.data(), values.size());
}

void mean_of_exact(std::span<const std::int64_t> sums, int fraction_bits, std::uint64_t tokens,
                   std::span<float> means) {
  ENSURE(means.size() == sums.size() && tokens > 0, "one mean per sum, of at least one token");
  mean_exact(sums.data(), std::ldexp(1.0, -fraction_bits), static_cast<double>(tokens), means.data(), means.size());
}

void mean_of_fast(std::span<const float> sums, std::uint64_t tokens, std::span<float> means) {
  ENSURE(means.size() == sums.size() && tokens > 0, "one mean per sum, of at least one token");
  mean_fast(sums.data(), static_cast<double>(tokens), means.data(), means.size());
}

double squared_norm(std::span<const float> values) {
  double sum = 0, group = 0;
  std::size_t blocks = 0;
  for (std::size_t begin = 0; begin < values.size(); begin += kNormBlock) {
    const std::span<const float> block = values.subspan(begin, std::min(kNormBlock, values.size() - begin));
    group += squares(block.data(), block.size());
    if (++blocks % kNormGroup == 0) sum += std::exchange(group, 0);
  }
  return sum + group;
}

AdamwCoefficients adamw_coefficients(const AdamwRule& rule) {
  const auto t = static_cast<double>(rule.optimizer_step);
  AdamwCoefficients coefficients;
  coefficients.clip_scale = static_cast<float>(rule.clip_scale);
  coefficients.decay = static_cast<float>(1 - rule.learning_rate * rule.weight_decay);
  coefficients.one_minus_beta1 = static_cast<float>(1 - rule.beta1);
  coefficients.beta2 = static_cast<float>(rule.beta2);
  coefficients.one_minus_beta2 = static_cast<float>(1 - rule.beta2);
  coefficients.step_size = static_cast<float>(rule.learning_rate / (1 - std::pow(rule.beta1, t)));
  coefficients.root_correction = static_cast<float>(std::sqrt(1 - std::pow(rule.beta2, t)));
  coefficients.eps = static_cast<float>(rule.eps);
  return coefficients;
}

void apply_adamw(const AdamwCoefficients& coefficients, const AdamwTensor& tensor) {
  const std::size_t count = tensor.weights.size();
  ENSURE(tensor.exp_avg.size() == count && tensor.exp_avg_sq.size() == count && tensor.gradient.size() == count,
         "weights, both averages and the gradient have one size");
  adamw(coefficients, {tensor.weights.data(), tensor.exp_avg.data(), tensor.exp_avg_sq.data(), tensor.gradient.data()},
        count);
}

void apply_sgd(const SgdCoefficients& coefficients, std::span<float> weights, std::span<const float> gradient) {
  ENSURE(gradient.size() == weights.size(), "one gradient per weight");
  sgd(coefficients, weights.data(), gradient.data(), weights.size());
}

}  // namespace shoal
