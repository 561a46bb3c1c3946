// Policies of commits for tests: learning rates that are easy to tell from each other, and stay what they are whatever
// the defaults of a configuration become.
#pragma once

#include <cstdint>

#include "runtime/journal/commit.h"

namespace shoal {

// The same rate in every step. clip_norm 0: off.
inline CommitPolicy constant_rate(double rate, double clip_norm) {
  CommitPolicy policy;
  policy.optim.lr = rate;
  policy.optim.warmup_steps = 0;
  policy.optim.schedule = LearningRateSchedule::kConstant;
  policy.optim.clip_norm = clip_norm;
  return policy;
}

// 0.1 in the first step, 0.2 in the next one, and so on up to 1.
inline CommitPolicy rising_rate(double clip_norm) {
  CommitPolicy policy = constant_rate(1, clip_norm);
  policy.optim.warmup_steps = 10;
  return policy;
}

}  // namespace shoal
