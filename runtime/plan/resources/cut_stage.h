// A stage of a cut model as far as planning needs it. The cut itself is made by the model (`partition`), which this
// folder does not see: whoever plans hands in a function that makes one.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "runtime/base/config.h"
#include "runtime/base/error.h"

namespace shoal {

struct CutStage {
  int first_layer = 0;
  int layer_count = 0;
  bool has_head = false;
  std::uint64_t parameter_count = 0;
  std::uint64_t state_bytes = 0;  // size of an image of its state
  double cost = 0;                // multiply-adds of a forward pass per token
  std::uint64_t kept_values = 0;  // float32 values that its blocks keep of each token for the backward pass
  std::uint64_t copy_bytes = 0;   // size of the copies of its weights that products in bf16 read
};

// Cuts the model of a configuration into its pipeline.stages. Errors: kUsage.
using CutFunction = std::function<Result<std::vector<CutStage>>(const Config&)>;

}  // namespace shoal
