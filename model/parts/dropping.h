// Dropout on a tape: its mask is kept, or nothing where the rate is 0.
// The mask follows from the tape's microbatch and the place in the model (dropout.h).
#pragma once

#include "model/dropout.h"
#include "model/parts/part.h"

namespace shoal {

struct DropoutPlace {
  int layer = 0;
  DropoutSite site = DropoutSite::kEmbedding;
};

[[nodiscard]] inline at::Tensor drop(const at::Tensor& x_BTC, const DropoutPlace& place, Tape& tape) {
  if (tape.dropout.rate <= 0) return x_BTC;
  const at::Tensor mask_BTC = tape.dropout.mask(x_BTC.sizes(), place.layer, place.site).to(x_BTC.device());
  tape.keep(mask_BTC);
  return x_BTC.mul(mask_BTC);
}

[[nodiscard]] inline at::Tensor drop_backward(const at::Tensor& dy_BTC, Tape& tape) {
  return tape.dropout.rate <= 0 ? dy_BTC : dy_BTC.mul(tape.take());
}

}  // namespace shoal
