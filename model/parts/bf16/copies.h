// The bf16 copies of weights that products read (product.h), beside the float32 weights that the optimiser steps.
// A copy is written when it is added, and all of them when the weights have changed: once per step, not per microbatch.
#pragma once

#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>

namespace shoal {

class Bf16Copies {
 public:
  // weight: float32; its memory is read again by write().
  [[nodiscard]] at::Tensor add(const at::Tensor& weight) {
    const at::NoGradGuard no_graph;
    const at::Tensor copy = weight.detach().to(at::kBFloat16);
    pairs_.emplace_back(weight.detach(), copy);
    return copy;
  }
  void write() const {
    const at::NoGradGuard no_graph;
    for (const auto& [weight, copy] : pairs_) copy.copy_(weight);
  }

 private:
  std::vector<std::pair<at::Tensor, at::Tensor>> pairs_;
};

}  // namespace shoal
