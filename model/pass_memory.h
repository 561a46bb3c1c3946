// Counts what a pass over a stage holds on a processor beside what its parts keep for the backward pass (kept_of()).
// Pure and without torch: planning reads it. Values are of float32, per token.
#pragma once

#include <cstdint>

#include "model/partition.h"
#include "runtime/base/config.h"

namespace shoal {

// Counts dropout's masks, which a forward pass keeps for the backward pass: of the embedding, and of both branches of
// each block; float32 in both precisions. A GPU's kernels draw them both ways, and keep none.
[[nodiscard]] std::uint64_t mask_values(const StagePlan& plan, const ModelConfig& model);

// Returns what a backward pass holds at most beside the whole tape. That is at its start, within the MLP of the last
// block: whatever comes later holds less than that MLP has given back by then.
[[nodiscard]] std::uint64_t passing_values(const StagePlan& plan, const ModelConfig& model);

// Returns the elements of the stage's largest tensor.
[[nodiscard]] std::uint64_t largest_tensor(const StagePlan& plan);

}  // namespace shoal
