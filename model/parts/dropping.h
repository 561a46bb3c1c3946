// Dropout on a tape: its mask is kept, or nothing where the rate is 0 or a device's own kernel draws it both ways.
// The mask follows from the tape's microbatch and the place in the model (dropout.h).
#pragma once

#include "model/dropout.h"
#include "model/parts/part.h"

namespace shoal {

struct DropoutPlace {
  int layer = 0;
  DropoutSite site = DropoutSite::kEmbedding;
  const FusedMath* fused = nullptr;

  [[nodiscard]] bool is_drawn_there(const at::Tensor& x_BTC) const {
    return fused != nullptr && x_BTC.size(1) * x_BTC.size(2) % 4 == 0;
  }
  [[nodiscard]] at::Tensor drop_there(const at::Tensor& x_BTC, const Dropout& dropout) const {
    return fused->drop(x_BTC, dropout, dropout.streams(x_BTC.size(0), layer, site));
  }
};

[[nodiscard]] inline at::Tensor drop(const at::Tensor& x_BTC, const DropoutPlace& place, Tape& tape) {
  if (tape.dropout.rate <= 0) return x_BTC;
  if (place.is_drawn_there(x_BTC)) return place.drop_there(x_BTC, tape.dropout);
  const at::Tensor mask_BTC = tape.dropout.mask(x_BTC.sizes(), place.layer, place.site).to(x_BTC.device());
  tape.keep(mask_BTC);
  return x_BTC.mul(mask_BTC);
}

[[nodiscard]] inline at::Tensor drop_backward(const at::Tensor& dy_BTC, const DropoutPlace& place, Tape& tape) {
  if (tape.dropout.rate <= 0) return dy_BTC;
  return place.is_drawn_there(dy_BTC) ? place.drop_there(dy_BTC, tape.dropout) : dy_BTC.mul(tape.take());
}

}  // namespace shoal
