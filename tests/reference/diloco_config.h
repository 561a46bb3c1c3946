// The small run that the tests of rounds compare with the reference, and its random microbatches.
//
// The optimiser's eps is larger than the default. The gradient of the key biases is zero but for rounding; with 1e-8
// Adam makes steps of it that no two computations share, and nothing could be compared to 1e-6.
#pragma once

#include "runtime/base/config.h"
#include "tests/reference/worker_group.h"
#include "tests/runtime/device/local_pipeline.h"

namespace shoal {

inline Config diloco_config() {
  Config config = small_config(Reduction::kFast);
  config.model.width = 16;
  config.model.context = 8;
  config.batch = {.sequences = 10, .microbatch = 2};  // five microbatches: workers have unequal tokens
  config.optim.lr = 3e-3;
  config.optim.eps = 1e-5;
  config.optim.decay_steps = 30;
  config.sync.mode = SyncMode::kDiloco;
  config.sync.H = 5;
  return config;
}

inline WorkOf works(const Config& config) {
  return [config](StepId step, MicrobatchId microbatch) { return random_work(config, step.value, microbatch.value); };
}

}  // namespace shoal
