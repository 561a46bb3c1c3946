// The schedule and the clipping in double, so that every process computes the same float32 later.
#include "runtime/journal/learning_rate.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace shoal {

double learning_rate(const OptimConfig& optim, std::uint64_t t) {
  if (t < optim.warmup_steps) {
    return optim.lr * static_cast<double>(t + 1) / static_cast<double>(optim.warmup_steps);
  }
  if (optim.schedule == LearningRateSchedule::kConstant) return optim.lr;
  if (t >= optim.decay_steps) return optim.min_lr;
  const double progress =
      static_cast<double>(t - optim.warmup_steps) / static_cast<double>(optim.decay_steps - optim.warmup_steps);
  return optim.min_lr + (optim.lr - optim.min_lr) * (1 + std::cos(std::numbers::pi * progress)) / 2;
}

}  // namespace shoal
