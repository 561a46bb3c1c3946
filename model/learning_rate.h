// The learning rate of step t: linear warm-up, then a cosine down to min_lr, or constant.
//
// Pure and without torch: the supervisor writes it into the commit record. Formula: interface.md, "Optimiser".
#pragma once

#include <cstdint>

#include "runtime/base/config.h"

namespace shoal {

// t = 0, 1, ...: lr * (t+1) / warmup_steps for t < warmup_steps; then by schedule; from decay_steps on min_lr (cosine).
[[nodiscard]] double learning_rate(const OptimConfig& optim, std::uint64_t t);

// What the mean gradient is multiplied by so that its norm is at most clip_norm: min(1, clip_norm / (norm + 1e-6));
// 1 when clip_norm is 0 (off). `norm` is that of all tensors of all stages.
[[nodiscard]] double clip_scale(const OptimConfig& optim, double norm);

}  // namespace shoal
