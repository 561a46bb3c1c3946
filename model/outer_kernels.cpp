// The loops of the outer step; see vector_clones.h for why their bits are the same everywhere.
#include "model/outer_kernels.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/arithmetic/vector_clones.h"
#include "runtime/base/ensure.h"

namespace shoal {
namespace {

SHOAL_VECTOR_CLONES void subtract(const float* base, const float* local, float* delta, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) delta[i] = base[i] - local[i];
}

SHOAL_VECTOR_CLONES void nesterov(const OuterCoefficients& c, float* __restrict outer, float* __restrict momentum,
                                  const float* __restrict gradient, std::size_t count) {
  const OuterCoefficients k = c;
  for (std::size_t i = 0; i < count; ++i) {
    const OuterElement after = nesterov_of(k, {outer[i], momentum[i]}, gradient[i]);
    outer[i] = after.outer;
    momentum[i] = after.momentum;
  }
}

SHOAL_VECTOR_CLONES void average(float* __restrict outer, const float* __restrict gradient, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) outer[i] = outer[i] - gradient[i];
}

SHOAL_VECTOR_CLONES void mix_in(float mix, const float* __restrict outer, float* __restrict local, std::size_t count) {
  const float rest = 1.0F - mix;
  for (std::size_t i = 0; i < count; ++i) local[i] = blend_of(mix, rest, outer[i], local[i]);
}

struct EagerPointers {
  const float* __restrict base;
  const float* __restrict local;
  const float* __restrict mean;
  float* __restrict contribution;
  float* __restrict gradient;
};

SHOAL_VECTOR_CLONES void eager(const EagerWeights& weights, double divisor, const EagerPointers& at,
                               std::size_t count) {
  const EagerWeights w = weights;
  const float* __restrict base = at.base;
  const float* __restrict local = at.local;
  const float* __restrict mean = at.mean;
  float* __restrict contribution = at.contribution;
  float* __restrict gradient = at.gradient;
  for (std::size_t i = 0; i < count; ++i) {
    const EagerElement after = eager_of(w, divisor, base[i] - local[i], mean[i], contribution[i]);
    gradient[i] = after.gradient;
    contribution[i] = after.contribution;
  }
}

}  // namespace

void outer_delta(std::span<const float> base, std::span<const float> local, std::span<float> delta) {
  ENSURE(base.size() == local.size() && base.size() == delta.size(), "base, local and delta have one size");
  subtract(base.data(), local.data(), delta.data(), delta.size());
}

void apply_nesterov(const OuterCoefficients& coefficients, const OuterTensor& tensor) {
  const std::size_t count = tensor.outer.size();
  ENSURE(tensor.momentum.size() == count && tensor.gradient.size() == count,
         "outer parameters, momentum and the mean have one size");
  nesterov(coefficients, tensor.outer.data(), tensor.momentum.data(), tensor.gradient.data(), count);
}

void apply_average(std::span<float> outer, std::span<const float> gradient) {
  ENSURE(outer.size() == gradient.size(), "outer parameters and the mean have one size");
  average(outer.data(), gradient.data(), outer.size());
}

void blend(float mix, std::span<const float> outer, std::span<float> local) {
  ENSURE(outer.size() == local.size(), "outer and local parameters have one size");
  if (mix == 1.0F) return;
  if (mix == 0.0F) {
    std::copy(outer.begin(), outer.end(), local.begin());
  } else {
    mix_in(mix, outer.data(), local.data(), local.size());
  }
}

void eager_gradient(const EagerWeights& weights, const EagerTensor& tensor) {
  const std::size_t count = tensor.gradient.size();
  ENSURE(tensor.base.size() == count && tensor.local.size() == count && tensor.mean.size() == count &&
             tensor.contribution.size() == count,
         "base, local, mean, contribution and gradient have one size");
  const double divisor = weights.divisor();
  if (divisor > 0) {
    eager(weights, divisor,
          {tensor.base.data(), tensor.local.data(), tensor.mean.data(), tensor.contribution.data(),
           tensor.gradient.data()},
          count);
  } else {  // then the newest has none either
    for (const std::span<float> zeros : {tensor.contribution, tensor.gradient}) std::ranges::fill(zeros, 0.0F);
  }
}

}  // namespace shoal
