// The yardstick of the speed bars: the usual eager training loop, as a PyTorch program writes it, in C++.
//
// Same model, tokens, gradient accumulation, clipping and AdamW as the run; .backward() into .grad fields, torch's own
// optimiser and clipping, one operator after the other. It shares the process's GEMM choice. With model.precision =
// bf16 the forward passes run under torch's autocast.
#pragma once

#include <memory>

#include "runtime/base/config.h"
#include "runtime/data/order.h"
#include "runtime/data/tokens.h"

namespace shoal {

class EagerLoop {
 public:
  EagerLoop(const Config& config, const Tokens& tokens);
  ~EagerLoop();
  EagerLoop(const EagerLoop&) = delete;
  EagerLoop& operator=(const EagerLoop&) = delete;

  // Trains one step; its mean loss.
  double step();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace shoal
