// The element-wise arithmetic of the outer step (DESIGN.md §6): delta, Nesterov, merging. Torch-free loops over plain
// memory.
//
// As in update_kernels.h every result depends on its own element alone, in a stated order of operations with explicit
// fma: all members of a stage get the same outer bits from the same mean, however a buffer is cut. All spans of a call
// have one size (ensured).
#pragma once

#include <span>

#include "model/arithmetic/outer_elements.h"

namespace shoal {

// The outer gradient, a descent direction: delta = base - local.
void outer_delta(std::span<const float> base, std::span<const float> local, std::span<float> delta);

struct OuterTensor {
  std::span<float> outer, momentum;
  std::span<const float> gradient;
};

// PyTorch's Nesterov momentum: momentum = fma(mu, momentum, g); outer = fma(-lr, fma(mu, momentum, g), outer).
void apply_nesterov(const OuterCoefficients& coefficients, const OuterTensor& tensor);

// A plain average: outer = outer - g. The momentum stays as it is.
void apply_average(std::span<float> outer, std::span<const float> gradient);

// local = fma(mix, local, (1 - mix) * outer). mix 0 copies, mix 1 does nothing: exactly.
void blend(float mix, std::span<const float> outer, std::span<float> local);

struct EagerTensor {
  std::span<const float> base, local;  // the newest delta is base - local
  std::span<const float> mean;         // the mean of the round before; zeros while there is none
  std::span<float> contribution;       // in: this worker's delta in that mean; out: the newest one
  std::span<float> gradient;           // out
};

// The newest own delta in place of the own share of the last mean (Kale, Douillard and Donchev 2025):
//   gradient = (newest * (base - local) + (stale_total * mean - stale_own * contribution))
//              / (newest + stale_total - stale_own), in double, rounded once; 0 where nobody has weight.
// A delta without weight is one of zeros, whatever its values are: those of a worker that has gone astray may be no
// numbers.
void eager_gradient(const EagerWeights& weights, const EagerTensor& tensor);

}  // namespace shoal
