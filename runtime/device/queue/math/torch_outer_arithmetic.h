// The arithmetic of rounds on a device without kernels of ours: the processor's, of copies, for its bits.
// Called within a turn of the device's queue; waits for what it copies.
#pragma once

#include <memory>

#include <ATen/core/Tensor.h>

#include "runtime/device/outer/outer_math.h"

namespace shoal {

[[nodiscard]] std::unique_ptr<OuterArithmetic> torch_outer_arithmetic(at::Device device);

}  // namespace shoal
