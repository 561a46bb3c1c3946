// Rotary positions: turns pairs of a head's elements by an angle that grows with the position (layer_list.h).
// Angles are products in float32, and their sines and cosines are rounded once, so that the tables are transformers'.
#pragma once

#include <cstdint>

#include <ATen/core/Tensor.h>

#include "model/layer_list.h"

namespace shoal {

class Rotary {
 public:
  // Makes the tables of positions 0 to context - 1, where x will be.
  Rotary(const RotarySpec& spec, std::int64_t context, at::Device device);

  // x: float32 [B,H,T,D] of positions 0 to T - 1. Returns a tensor of that shape.
  [[nodiscard]] at::Tensor forward(const at::Tensor& x_BHTD) const;
  // Keeps nothing: the gradient is turned back.
  [[nodiscard]] at::Tensor backward(const at::Tensor& dy_BHTD) const;

 private:
  at::Tensor cosines_TD_, sines_TD_;
};

}  // namespace shoal
