// GPT-2 small over its own vocabulary, padded, in so many stages by exact sums: what tests of memory plan.
// 64 sequences a step, 4 a microbatch.
#pragma once

#include "runtime/base/config.h"

namespace shoal {

[[nodiscard]] inline Config exact_gpt2_small(int stages) {
  Config config;
  config.model = {.layers = 12, .heads = 12, .width = 768, .context = 1024, .vocabulary = 50304};
  config.batch = {64, 4};
  config.pipeline.stages = stages;
  config.sync.reduction = Reduction::kExact;
  return config;
}

}  // namespace shoal
