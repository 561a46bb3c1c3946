// The weights a run starts from: a pure function of (seed, tensor name), whatever the cut.
//
// Norms' weights are 1, biases 0, matrices and embeddings normal(0, init_std), the two residual projections of a
// block normal(0, init_std / sqrt(2 layers)). Element i of a tensor is Box-Muller's output i mod 2 for the Philox block
// with counter (i / 2, FNV-1a of the name) and key `seed`, in double, rounded to float32 once.
#pragma once

#include <cstdint>
#include <span>

#include "model/partition.h"
#include "runtime/base/config.h"

namespace shoal {

// Fills `values` (all elements of the tensor, row-major). Ensures the size.
void initial_weights(const ModelConfig& model, std::uint64_t seed, const TensorSpec& tensor, std::span<float> values);

}  // namespace shoal
