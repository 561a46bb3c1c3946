// Takes from the house what the plain reference needs: a configuration's numbers and the model's gradients. Torch-free
// header.
#pragma once

#include <cstddef>

#include "runtime/base/config.h"
#include "runtime/executor/stage_executor.h"
#include "tests/reference/plain_diloco.h"
#include "tests/reference/worker_group.h"

namespace shoal {

[[nodiscard]] plain::Tensors as_doubles(const NamedTensors& tensors);

// The numbers of [optim] and [sync], one stage, one fragment, no mistake.
[[nodiscard]] plain::Recipe recipe_of(const Config& config, std::size_t workers);

// The gradient of the sum of the loss of one microbatch, by torch's autograd, at these weights rounded to float32: all
// that implementation and reference share.
[[nodiscard]] plain::Gradient model_gradient(const Config& config, const plain::Tensors& weights,
                                             const MicrobatchWork& work);

}  // namespace shoal
