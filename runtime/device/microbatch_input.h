// Reads a microbatch's work as a stage computes it, on any device: what its input has to be, and the tape of its pass.
// Shape letters: B sequences, T tokens, C width.
#pragma once

#include <cstdint>
#include <vector>

#include <ATen/core/Tensor.h>

#include "model/partition.h"
#include "model/parts/part.h"
#include "runtime/base/config.h"
#include "runtime/executor/stage_executor.h"

namespace shoal {

// Tokens are int32 where the stage has the embedding; elsewhere activations are float32 [B,T,C] (ENSURE).
void check_input(const at::Tensor& input, const StagePlan& plan);

// Returns [B,T,C] of every activation, and gradient of one, between two stages of the run.
[[nodiscard]] std::vector<std::int64_t> border_shape(const Config& config);

// Its dropout depends on the run's seed, the step and the number of the sample alone, not on who computes it.
[[nodiscard]] Tape tape_for(const Config& config, const MicrobatchWork& work, Tape::Keeps keeps);

}  // namespace shoal
