// Values of a sum that a library makes on a device: torch's memory, a queue of its own, a mark behind the sum.
// On an H100 a sum of one rank was made in it.
#pragma once

#include <memory>

#include "runtime/device/nccl/collective_memory.h"
#include "runtime/device/queue/device_queue.h"

namespace shoal {

// A contribution on the device is read where it is; one on the host is sent there. From the calling thread on, which is
// the library's, the queue's device is the current one.
[[nodiscard]] std::unique_ptr<CollectiveMemory> make_queued_memory(std::shared_ptr<DeviceQueue> queue);

}  // namespace shoal
