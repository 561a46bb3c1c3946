// A stage's arithmetic by our kernels, on its queue's stream: the processor's bits for sums, means, norms, updates and
// digests. Cross-entropy repeats, and is torch's within rounding.
#pragma once

#include <memory>

#include "runtime/device/queue/device_queue.h"
#include "runtime/device/queue/math/device_math.h"

namespace shoal {

[[nodiscard]] std::unique_ptr<DeviceMath> make_kernel_math(std::shared_ptr<DeviceQueue> queue);

}  // namespace shoal
