// The learning rate of step t: linear warm-up, then a cosine down to min_lr, or constant.
//
// Pure: the supervisor writes it into the commit, and every replica trains with what it reads there. Formula: DESIGN.md
// §4.10.
#pragma once

#include <cstdint>

#include "runtime/base/config.h"

namespace shoal {

// t = 0, 1, ...: lr * (t+1) / warmup_steps for t < warmup_steps; then by schedule; from decay_steps on min_lr (cosine).
[[nodiscard]] double learning_rate(const OptimConfig& optim, std::uint64_t t);

}  // namespace shoal
