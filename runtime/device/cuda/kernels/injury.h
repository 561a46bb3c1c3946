// Kernels that fail on purpose, so that tests see what follows the fault of a device. No arithmetic is in them.
// The device meets them when the stream comes to them, as it would meet a bug of ours.
#pragma once

#include "runtime/device/cuda/kernels/launch.h"

namespace shoal::gpu {

// Writes to an address that is no memory: CUDA's illegal address, after which the process has no device.
[[nodiscard]] LaunchError write_nowhere(Stream stream);

// Works for so many nanoseconds, at nothing.
[[nodiscard]] LaunchError spin(std::uint64_t nanoseconds, Stream stream);

}  // namespace shoal::gpu
